#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>
    /// The ports that tools use, each under its interface. Ports are added while the bridge starts; any thread may read them.
    /// </summary>
    public sealed class ServiceTable
    {
        private readonly Dictionary<Type, object> services = new();
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

        /// <summary>The port of this interface.</summary>
        /// <exception cref="NotSupportedException">This editor does not have it.</exception>
        public T Get<T>() where T : class => TryGet<T>() ??
            throw new NotSupportedException($"This editor offers no {typeof(T).Name.TrimStart('I')}");

        /// <summary>The port of this interface; null if this editor does not have it.</summary>
        public T? TryGet<T>() where T : class
        {
            lock (gate) return services.TryGetValue(typeof(T), out object service) ? (T)service : null;
        }
    }
}
