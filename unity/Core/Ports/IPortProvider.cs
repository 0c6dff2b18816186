#nullable enable
namespace Holdfast
{
    /// <summary>
    /// Adds ports of the editor while the bridge starts. Every class that implements this and has a constructor without
    /// parameters is found automatically. An assembly for an optional package adds its port this way.
    /// </summary>
    public interface IPortProvider
    {
        /// <summary>Adds the ports. Main thread.</summary>
        void AddPorts(ServiceTable ports);
    }
}
