#nullable enable
using System;

namespace Holdfast
{
    /// <summary>The context of a call of the package's own tools, which reach the editor only by ports.</summary>
    internal interface IPortSource
    {
        /// <summary>Returns a port of the editor, such as <see cref="IConsole"/> or <see cref="ICompiler"/>.</summary>
        /// <exception cref="NotSupportedException">This editor does not have the port. For example, the test framework is not
        /// installed.</exception>
        T Get<T>() where T : class;
    }

    /// <summary>Ports for the package's own tools.</summary>
    internal static class PortSource
    {
        /// <summary>Returns a port; see <see cref="IPortSource.Get{T}"/>.</summary>
        public static T Get<T>(this IToolContext context) where T : class => ((IPortSource)context).Get<T>();
    }
}
