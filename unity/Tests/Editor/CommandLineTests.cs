#nullable enable
using NUnit.Framework;

namespace Holdfast.Tests
{
    public sealed class CommandLineTests
    {
        [TestCase("Unity --virtual-project-clone -projectPath /p", true)]
        [TestCase("Unity -editor-mode com.unity.mppm.clone", true)]
        [TestCase("Unity -editor-mode other -projectPath com.unity.mppm.clone", false)]
        [TestCase("Unity -projectPath /p -editor-mode", false)]
        [TestCase("", false)]
        public void A_virtual_player_is_known_by_its_arguments(string words, bool expected) =>
            Assert.That(CommandLine.IsVirtualPlayer(words.Split(' ')), Is.EqualTo(expected));
    }
}
