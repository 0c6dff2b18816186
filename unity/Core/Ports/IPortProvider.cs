#nullable enable
namespace Holdfast
{
    /// <summary>
    /// Adds ports of the editor before the bridge starts. Every class that implements it and has a constructor without
    /// parameters is found by itself; an assembly for an optional package brings its port so.
    /// </summary>
    public interface IPortProvider
    {
        /// <summary>Adds them. Main thread.</summary>
        void AddPorts(ServiceTable ports);
    }
}
