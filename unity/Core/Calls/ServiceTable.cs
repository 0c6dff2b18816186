#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>The ports that tools ask for, by their interface. Filled before the bridge starts; then read by any thread.</summary>
    public sealed class ServiceTable
    {
        private readonly Dictionary<Type, object> services = new();
        private readonly object gate = new();

        /// <summary>With the clock that the calls go by.</summary>
        public ServiceTable(IClock clock) => Clock = clock;

        internal IClock Clock { get; }

        /// <summary>Puts a port in; a later one replaces an earlier one.</summary>
        public ServiceTable Add<T>(T service) where T : class
        {
            lock (gate) services[typeof(T)] = service;
            return this;
        }

        /// <summary>The port of this interface.</summary>
        /// <exception cref="NotSupportedException">There is none here.</exception>
        public T Get<T>() where T : class => TryGet<T>() ??
            throw new NotSupportedException($"This editor offers no {typeof(T).Name.TrimStart('I')}");

        /// <summary>The same; null if there is none.</summary>
        public T? TryGet<T>() where T : class
        {
            lock (gate) return services.TryGetValue(typeof(T), out object service) ? (T)service : null;
        }
    }
}
