#nullable enable
using System;
using System.Collections.Generic;
using System.Reflection;

namespace Holdfast
{
    /// <summary>
    /// The ports that tools use, each under its interface. Ports are added while the bridge starts; any thread may read them.
    /// </summary>
    internal sealed class ServiceTable
    {
        private readonly Dictionary<Type, object> services = new();
        private readonly Dictionary<Type, Exception> broken = new();
        private readonly object gate = new();

        /// <summary>Creates an empty table with the clock by which calls measure their time.</summary>
        public ServiceTable(IClock clock) => Clock = clock;

        internal IClock Clock { get; }

        /// <summary>Adds a port, or replaces the earlier one of the same interface.</summary>
        public ServiceTable Add<T>(T service) where T : class
        {
            lock (gate) services[typeof(T)] = service;
            return this;
        }

        /// <summary>
        /// Creates and adds a port. If that fails, the other ports are still added, and calls that need this one are refused.
        /// </summary>
        public ServiceTable Add<T>(Func<T> create) where T : class
        {
            try
            {
                return Add(create());
            }
            catch (Exception e)
            {
                Broke(typeof(T), e);
                return this;
            }
        }

        /// <summary>Notes that a port, or the provider of some ports, could not be used.</summary>
        public void Broke(Type part, Exception reason)
        {
            lock (gate) broken[part] = (reason as TargetInvocationException)?.InnerException ?? reason;
        }

        /// <summary>The ports and providers that could not be used, with the reasons.</summary>
        public IReadOnlyDictionary<Type, Exception> Broken
        {
            get
            {
                lock (gate) return new Dictionary<Type, Exception>(broken);
            }
        }

        /// <summary>The port of this interface.</summary>
        /// <exception cref="NotSupportedException">This editor does not have it, or it could not be created.</exception>
        public T Get<T>() where T : class => TryGet<T>() ?? throw Missing(typeof(T));

        /// <summary>The port of this interface; null if this editor does not have it.</summary>
        public T? TryGet<T>() where T : class
        {
            lock (gate) return services.TryGetValue(typeof(T), out object service) ? (T)service : null;
        }

        private NotSupportedException Missing(Type port)
        {
            string name = port.Name.TrimStart('I');
            lock (gate)
            {
                return broken.TryGetValue(port, out Exception reason)
                    ? new NotSupportedException($"The part {name} of the package could not be used: {reason.Message}", reason)
                    : new NotSupportedException($"This editor offers no {name}");
            }
        }
    }
}
