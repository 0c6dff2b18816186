#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Sends notifications to connected clients. Any thread.</summary>
    internal sealed class Notifications
    {
        private readonly Func<IReadOnlyList<Connection>> connections;

        public Notifications(Func<IReadOnlyList<Connection>> connections) => this.connections = connections;

        /// <summary>Sends a notification to every connection that <paramref name="to"/> chooses.</summary>
        public void Broadcast(string method, JObject about, Func<Connection, bool> to)
        {
            string text = JsonRpc.Notification(method, about);
            foreach (Connection connection in connections().Where(to)) connection.Send(text);
        }

        /// <summary>Tells the caller how far a call is, on its connection or on the one that replaced it.</summary>
        public void Progress(ToolCall call, double progress, double? total, string? message)
        {
            var about = new JObject { ["callId"] = call.CallId, ["progress"] = progress };
            if (total != null) about["total"] = total;
            if (message != null) about["message"] = message;
            string text = JsonRpc.Notification("holdfast/progress", about);
            if (call.Origin == null || !call.Origin.Send(text)) Present(call.Gateway)?.Send(text);
        }

        /// <summary>Tells the gateway that a call has ended whose answer could not be sent on its own connection.</summary>
        public void Settled(ToolCall call)
        {
            var about = new JObject { ["callId"] = call.CallId, ["status"] = "done" };
            Present(call.Gateway)?.Send(JsonRpc.Notification("holdfast/settled", about));
        }

        // The current connection of the gateway, if it has one.
        private Connection? Present(string? gateway) =>
            gateway == null ? null : connections().LastOrDefault(c => c.Gateway == gateway && !c.IsClosed);
    }
}
