#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Admits calls, schedules them, runs them, and writes the journal. A call with an id is answered with the outcome that the
    /// journal has for it. Its members may be called on any thread.
    /// </summary>
    internal sealed class CallCenter
    {
        private readonly object gate = new();
        private readonly CallQueue queue = new();
        private readonly MainThreadQueue mainThread;
        private readonly Workers workers;
        private readonly IClock clock;
        private readonly IEditorLog log;
        private CallJournal journal;
        private string? closedBecause;

        public CallCenter(MainThreadQueue mainThread, Workers workers, IClock clock, IEditorLog log)
        {
            journal = new CallJournal(clock);
            this.mainThread = mainThread;
            this.workers = workers;
            this.clock = clock;
            this.log = log;
        }

        /// <summary>
        /// Loads the journal of earlier domains. Call it before the first call is admitted. It is read outside of the lock: its
        /// text may be long, and the main thread asks for the status of calls.
        /// </summary>
        /// <returns>Null, or why the text cannot be read. Then earlier calls are reported as forgotten.</returns>
        public string? Load(string saved)
        {
            var loaded = new CallJournal(clock);
            string? failure = loaded.Load(saved);
            lock (gate) journal = loaded;
            return failure;
        }

        /// <summary>
        /// Admits a call and returns null, or returns the error with which the call is refused. An admitted call that has an id
        /// gets an entry in the journal. A refused call is not recorded.
        /// </summary>
        public RpcError? Submit(ToolCall call)
        {
            lock (gate)
            {
                if (Refusal(call) is { } refusal) return refusal;
                if (call.CallId != null) journal.Enter(call.Gateway!, call.CallId, call.Seq, call.Tool.Name);
                queue.Add(call);
            }
            Pump();
            return null;
        }

        /// <summary>Returns the calls that a reload interrupted and that can be resumed.</summary>
        public IReadOnlyList<JournalEntry> Resumable()
        {
            lock (gate) return journal.Resumable();
        }

        /// <summary>
        /// Queues a call that a reload interrupted, so that it is resumed. The journal already has an entry for the call.
        /// </summary>
        public void Resume(ToolCall call)
        {
            lock (gate) queue.Add(call);
            Pump();
        }

        /// <summary>Marks a call as interrupted in the journal: a reload interrupted it, and it cannot be resumed.</summary>
        public void GiveUp(string callId)
        {
            lock (gate) journal.GiveUp(callId);
        }

        /// <summary>Saves the state that a resumable tool needs to resume the call.</summary>
        /// <returns>False if nothing was saved: the call is not running, or the domain is about to unload.</returns>
        public bool Keep(ToolCall call, string state)
        {
            lock (gate)
            {
                if (call.Phase != CallPhase.Running || closedBecause != null) return false;
                journal.Keep(call.CallId!, state);
                return true;
            }
        }

        /// <summary>Asks a running call to stop. A call that has not begun is removed and answered.</summary>
        /// <returns>The status in the journal afterwards; null if the journal does not have the id.</returns>
        public CallStatus? Cancel(string callId)
        {
            ToolCall? call;
            lock (gate)
            {
                call = queue.All.FirstOrDefault(c => c.CallId == callId);
                if (call == null) return journal.Find(callId)?.Status;
            }
            Stop(call, StopReason.Cancelled);
            lock (gate) return journal.Find(callId)?.Status;
        }

        /// <summary>
        /// Ensures that from now on no call of this gateway begins unless it came on the connection <paramref name="present"/>.
        /// Drops, without an answer, the calls from other connections that have not begun. Refuses the calls that the connections
        /// in <paramref name="former"/> deliver later.
        /// </summary>
        public void Fence(string gateway, Connection present, IEnumerable<Connection> former)
        {
            lock (gate)
            {
                foreach (Connection one in former) one.IsFenced = true;
                List<ToolCall> dropped = queue.All
                    .Where(c => c.Origin?.Gateway == gateway && c.Origin != present && c.Phase < CallPhase.Running)
                    .ToList();
                foreach (ToolCall call in dropped) Discard(call, "dropped");
            }
            Pump();
        }

        /// <summary>Records that a gateway has proven itself.</summary>
        public void Greet(string gateway)
        {
            lock (gate) journal.Greet(gateway);
        }

        /// <summary>
        /// Returns the outcomes of calls as a JSON list, in the order of the questions. An id that never arrived is sealed: its
        /// call will be refused. The journal's entries are read only under the lock, so this method writes the JSON itself.
        /// </summary>
        public string Outcomes(string gateway, IEnumerable<(string CallId, long Seq)> questions)
        {
            lock (gate)
            {
                return "[" + string.Join(",", questions.Select(q => Describe(journal.Ask(gateway, q.CallId, q.Seq)))) + "]";
            }
        }

        /// <summary>
        /// Returns the number of calls that have not begun, and the running calls with their running time in milliseconds.
        /// </summary>
        public (int Queued, IReadOnlyList<(string? CallId, string Tool, long ForMs)> Running) Status()
        {
            lock (gate)
            {
                long now = clock.Now;
                var running = queue.Active.Where(c => c.Phase == CallPhase.Running)
                    .Select(c => (c.CallId, c.Tool.Name, now - c.StartedAt)).ToList();
                return (queue.Waiting + queue.Active.Count - running.Count, running);
            }
        }

        /// <summary>Whether any call waits or runs.</summary>
        public bool IsBusy
        {
            get
            {
                lock (gate) return queue.Waiting + queue.Active.Count > 0;
            }
        }

        /// <summary>
        /// Asks calls that exceed their time limit to stop. A call that was asked to stop and still runs after <see
        /// cref="Limits.StopGrace"/> is answered with an error, so that the next call can begin. Called many times a second.
        /// </summary>
        public void CheckDeadlines()
        {
            List<ToolCall> late, stuck;
            lock (gate)
            {
                long now = clock.Now;
                late = queue.Active.Where(c => c.Phase == CallPhase.Running && c.Deadline <= now).ToList();
                stuck = queue.Active.Where(c => c.Phase == CallPhase.Running && now - c.StopAsked >= Limits.StopGrace).ToList();
                foreach (ToolCall call in late) call.Deadline = long.MaxValue;
            }
            foreach (ToolCall call in late) Stop(call, StopReason.TimedOut);
            foreach (ToolCall call in stuck)
            {
                log.Warn($"The tool {call.Tool.Name} was asked to stop and did not; its turn is given to others");
                Finish(call, CallOutcome.Of(Stopped(call, ", and has not ended")));
            }
        }

        /// <summary>
        /// Refuses new calls, and begins no waiting call. Running calls continue until <see cref="Interrupt"/>. Main thread.
        /// </summary>
        public void Close(string because)
        {
            lock (gate) closedBecause ??= because;
        }

        /// <summary>
        /// Ends all calls, since the domain is about to unload. Afterwards no call begins and none is answered. Returns the
        /// journal that the next domain loads.
        /// </summary>
        /// <returns>The journal as text.</returns>
        public string Interrupt(string because)
        {
            List<ToolCall> all;
            string saved;
            lock (gate)
            {
                closedBecause ??= because;
                all = queue.All.ToList();
                journal.Interrupt();
                saved = journal.Save();
                foreach (ToolCall call in all)
                {
                    queue.Remove(call);
                    call.Phase = CallPhase.Ended;
                    call.Stop = StopReason.Leaving;
                }
            }
            foreach (ToolCall call in all)
            {
                call.EndProgress();
                call.CancelToken();
            }
            return saved;
        }

        private RpcError? Refusal(ToolCall call)
        {
            if (closedBecause != null) return new RpcError("leaving", -32005, false, closedBecause);
            if (call.Origin is { IsFenced: true })
            {
                return new RpcError("leaving", -32005, false, "A newer connection of this gateway has taken the place of this one");
            }
            if (call.CallId != null && journal.Find(call.CallId) is { } known)
            {
                return known.Reason == "sealed"
                    ? new RpcError("sealed", -32002, false,
                        "An outcome was asked for this call before it came: it did not run and will not")
                    : new RpcError("duplicate_call", -32003, false,
                        "This call id is known: it was not run again; ask for its outcome");
            }
            if (queue.Waiting + queue.Active.Count >= Limits.Calls)
            {
                return Busy($"{Limits.Calls} calls wait or run already");
            }
            if (queue.WaitingBytes + call.Bytes > Limits.CallBytes)
            {
                return Busy($"{Limits.CallBytes >> 20} MiB of arguments wait already");
            }
            if (queue.All.Count(c => c.Origin == call.Origin) >= Limits.RequestsPerConnection)
            {
                return Busy($"{Limits.RequestsPerConnection} calls of this connection wait or run already");
            }
            return null;
        }

        private static RpcError Busy(string what) =>
            new("busy", -32004, false, what + "; try again when some have ended");

        // Schedules every call that may begin now, each on its thread. Posting happens outside the lock.
        private void Pump()
        {
            while (true)
            {
                ToolCall? call;
                lock (gate)
                {
                    call = closedBecause == null ? queue.Next() : null;
                    if (call == null) return;
                    call.Phase = CallPhase.Scheduled;
                }
                ToolCall next = call;
                bool posted = next.Tool.About.OffMainThread
                    ? workers.Post(() => Run(next))
                    : mainThread.Post(() => Run(next));
                if (posted) continue;
                // The queue of the thread is full or closed. The call has not begun here, so it gets an error. Only for a call
                // that was resumed the error does not say that the call never ran.
                Drop(next, next.Resumed == null
                    ? new RpcError("busy", -32004, false, "Too much waits for the editor; try again later")
                    : new RpcError("busy", -32004, true, "A domain reload cut it, and too much waits for the editor to let it go on"));
            }
        }

        private void Run(ToolCall call)
        {
            lock (gate)
            {
                if (call.Phase != CallPhase.Scheduled || closedBecause != null) return;
                call.Phase = CallPhase.Running;
                call.StartedAt = clock.Now;
                int timeout = call.TimeoutMs ?? TimeoutOf(call);
                call.TimeoutSeconds = (timeout + 999) / 1000;
                if (timeout > 0) call.Deadline = call.StartedAt + timeout;
                if (call.CallId != null && call.Resumed == null) journal.Begin(call.CallId);
            }
            _ = RunAsync(call);
        }

        private async Task RunAsync(ToolCall call)
        {
            CallOutcome outcome;
            DateTime began = DateTime.Now;
            try
            {
                IUnityTool tool = call.Tool.Tool;
                if (call.Resumed == null) ToolParameters.CheckNames(call.Tool.Name, tool.ParametersType, call.Arguments);
                Task<object?> task = call.Resumed != null && tool is IResumableTool resumable
                    ? resumable.ResumeAsync(call.Resumed, call)
                    : tool.ExecuteAsync(call.Arguments, call);
                object? value = await task.ConfigureAwait(false);
                long duration = clock.Now - call.StartedAt;
                if (call.WantsTimes) ToolResults.FillTimes(value, began, duration);
                outcome = ToolResults.Outcome(value, duration);
            }
            catch (ToolParameterException e)
            {
                // The tool throws it before it does anything. A resumed call has done its work up to the reload.
                outcome = CallOutcome.Of(new RpcError("invalid_params", -32602, call.Resumed != null, e.Message));
            }
            catch (OperationCanceledException) when (call.Stop != StopReason.None)
            {
                outcome = CallOutcome.Of(Stopped(call, ""));
            }
            catch (Exception e)
            {
                log.Warn($"The tool {call.Tool.Name} failed: {e}");
                outcome = CallOutcome.Of(new RpcError("tool_failed", -32000, true, e.Message)
                    .With("exception", e.GetType().FullName));
            }
            Finish(call, outcome);
        }

        private void Finish(ToolCall call, CallOutcome outcome)
        {
            lock (gate)
            {
                if (call.Phase != CallPhase.Running) return;
                outcome.Error?.Identify(call.CallId, call.Tool.Name);
                if (call.CallId != null && !journal.Complete(call.CallId, outcome.ToJson(call.CallId), outcome.Error != null))
                {
                    return;
                }
                call.Phase = CallPhase.Ended;
                queue.Remove(call);
            }
            call.EndProgress();
            Tell(call, outcome);
            Pump();
        }

        private void Stop(ToolCall call, StopReason reason)
        {
            bool running;
            lock (gate)
            {
                if (call.Phase == CallPhase.Ended) return;
                running = call.Phase == CallPhase.Running;
                if (running)
                {
                    if (call.Stop == StopReason.None) call.Stop = reason;
                    call.StopAsked = Math.Min(call.StopAsked, clock.Now);
                }
            }
            if (running) call.CancelToken();
            else if (call.Resumed != null) Drop(call, Stopped(call, ", after a domain reload had cut it"));
            else Drop(call, new RpcError("cancelled", -32006, false, "Cancelled before it began"), "cancelled");
        }

        // Removes a call that has not begun here, and answers it with an error. A call that a reload interrupted had begun in an
        // earlier domain and is running in the journal, so the error is recorded there as its answer.
        private void Drop(ToolCall call, RpcError error, string reason = "dropped")
        {
            CallOutcome outcome = CallOutcome.Of(error);
            lock (gate)
            {
                if (call.Phase >= CallPhase.Running) return;
                outcome.Error?.Identify(call.CallId, call.Tool.Name);
                if (call.Resumed != null) journal.Complete(call.CallId!, outcome.ToJson(call.CallId!), true);
                Discard(call, reason);
            }
            Tell(call, outcome);
            Pump();
        }

        private void Discard(ToolCall call, string reason)
        {
            queue.Remove(call);
            call.Phase = CallPhase.Ended;
            if (call.CallId != null) journal.Drop(call.CallId, reason);
        }

        private void Tell(ToolCall call, CallOutcome outcome)
        {
            try
            {
                call.Ended(call, outcome);
            }
            catch (Exception e)
            {
                log.Error("Answering a call failed: " + e);
            }
        }

        private static RpcError Stopped(ToolCall call, string more) => call.Stop == StopReason.TimedOut
            ? new RpcError("timed_out", -32006, true, $"The tool {call.Tool.Name} was stopped after {call.TimeoutSeconds} seconds{more}" +
                // No schema names the argument.
                (call.TimeoutMs == null ? "; the argument TimeoutSeconds gives it another limit" : ""))
            : new RpcError("cancelled", -32006, true, "Cancelled while it ran" + more);

        private static int TimeoutOf(ToolCall call)
        {
            JToken? given = (call.Arguments as JObject)?.GetValue("TimeoutSeconds", StringComparison.OrdinalIgnoreCase);
            double value = given?.Type == JTokenType.Integer ? (double)given : call.Tool.TimeoutSeconds ?? 0;
            return (int)Math.Max(0, Math.Min(value, Limits.ToolTimeoutSeconds)) * 1000;
        }

        private static string Describe(JournalEntry entry)
        {
            var about = new JObject { ["callId"] = entry.CallId, ["status"] = JournalEntry.Word(entry.Status) };
            if (entry.Status is CallStatus.Running or CallStatus.Interrupted) about["tool"] = entry.Tool;
            if (entry.Status == CallStatus.NotRun) about["reason"] = entry.Reason;
            if (entry.Status == CallStatus.Done && entry.Answer == null) about["lost"] = entry.Lost;
            string json = Json.Write(about);
            if (entry.Answer == null) return json;
            // The answer is JSON text already and is inserted as it is.
            return json.Substring(0, json.Length - 1) + (entry.AnswerIsError ? ",\"error\":" : ",\"result\":") + entry.Answer + "}";
        }
    }
}
