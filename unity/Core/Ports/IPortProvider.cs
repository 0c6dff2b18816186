#nullable enable
namespace Holdfast
{
    /// <summary>
    /// Adds ports of the editor while the bridge starts. Every class that implements this interface and has a constructor without
    /// parameters is found automatically. This is how an assembly that depends on an optional package adds its port.
    /// </summary>
    internal interface IPortProvider
    {
        /// <summary>Adds the ports. Main thread.</summary>
        void AddPorts(ServiceTable ports);
    }
}
