#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Status of a call in the journal, as Documentation~/protocol.md (section 7) defines it.</summary>
    internal enum CallStatus
    {
        Queued,
        Running,
        Done,
        Interrupted,
        NotRun,
        Forgotten
    }

    /// <summary>The journal's entry for one call.</summary>
    internal sealed class JournalEntry
    {
        public string CallId { get; set; } = "";

        public string Gateway { get; set; } = "";

        public long Seq { get; set; }

        public string Tool { get; set; } = "";

        public CallStatus Status { get; set; }

        /// <summary>
        /// Why the status is <see cref="CallStatus.NotRun"/>: sealed, dropped or cancelled. Null for any other status.
        /// </summary>
        public string? Reason { get; set; }

        /// <summary>
        /// The answer as JSON; null if there is none yet, if the call never got one, or if the answer was not kept.
        /// </summary>
        public string? Answer { get; set; }

        /// <summary>Whether the answer is an error.</summary>
        public bool AnswerIsError { get; set; }

        /// <summary>Why a call with status <see cref="CallStatus.Done"/> has no answer here: too_large or expired.</summary>
        public string? Lost { get; set; }

        /// <summary>The state that a resumable tool saved, as JSON.</summary>
        public string? Kept { get; set; }

        /// <summary>When the entry got its current status, in milliseconds of <see cref="IClock.Now"/>.</summary>
        public long Since { get; set; }

        public bool IsOpen => Status is CallStatus.Queued or CallStatus.Running;

        /// <summary>The status as it is written on the wire.</summary>
        public static string Word(CallStatus status) => status switch
        {
            CallStatus.Queued => "queued",
            CallStatus.Running => "running",
            CallStatus.Done => "done",
            CallStatus.Interrupted => "interrupted",
            CallStatus.NotRun => "notRun",
            _ => "forgotten"
        };
    }

    /// <summary>
    /// Records the outcome of every call under its id, so that the package can state for certain that a call did not run. If an
    /// outcome is asked for before its call arrives, the id is sealed: the call will be refused. An id whose entry may have been
    /// removed is reported as forgotten, never as not run. Not thread-safe: the lock of <see cref="CallCenter"/> guards it.
    /// </summary>
    internal sealed class CallJournal
    {
        private readonly Dictionary<string, LinkedListNode<JournalEntry>> byId = new(StringComparer.Ordinal);
        // Ordered by the time of the last change of status, so the first ended entry is the oldest one.
        private readonly LinkedList<JournalEntry> entries = new();
        private readonly LinkedList<JournalEntry> answers = new();
        private readonly Dictionary<string, Gateway> gateways = new(StringComparer.Ordinal);
        private readonly IClock clock;
        private long answerBytes;
        private bool gatewaysLetGo;
        private long gatewayClock;

        /// <summary>Creates an empty journal.</summary>
        public CallJournal(IClock clock) => this.clock = clock;

        /// <summary>Number of entries.</summary>
        public int Count => byId.Count;

        /// <summary>Total length of the answers that are kept, in characters (not bytes).</summary>
        public long AnswerBytes => answerBytes;

        /// <summary>Returns the entry of a call id, or null.</summary>
        public JournalEntry? Find(string callId) =>
            byId.TryGetValue(callId, out LinkedListNode<JournalEntry> node) ? node.Value : null;

        /// <summary>
        /// Records that a gateway has proven itself on a new connection. The gateway whose latest proof is oldest is removed if
        /// there are too many.
        /// </summary>
        public void Greet(string gateway)
        {
            if (!gateways.TryGetValue(gateway, out Gateway record))
            {
                if (gateways.Count >= Limits.JournalGateways) LetGatewayGo();
                // This gateway may be one that was removed earlier. Then the outcomes of its earlier calls are unknown.
                gateways.Add(gateway, record = new Gateway { Blind = gatewaysLetGo });
            }
            record.Greeted = ++gatewayClock;
        }

        /// <summary>Adds an entry for a call that was received. The journal must not have the id yet.</summary>
        public JournalEntry Enter(string gateway, string callId, long seq, string tool)
        {
            if (gateways.TryGetValue(gateway, out Gateway record) && record.Blind)
            {
                record.Blind = false;
                record.LetGoUpTo = Math.Max(record.LetGoUpTo, seq - 1);
            }
            return Add(new JournalEntry
            {
                CallId = callId, Gateway = gateway, Seq = seq, Tool = tool, Status = CallStatus.Queued
            });
        }

        /// <summary>Marks a call as running.</summary>
        public void Begin(string callId) => Move(callId, CallStatus.Running);

        /// <summary>
        /// Saves the state from which a resumable tool resumes a running call. Does nothing if the call is not running.
        /// </summary>
        public void Keep(string callId, string state)
        {
            if (Find(callId) is { Status: CallStatus.Running } entry) entry.Kept = state;
        }

        /// <summary>Records the answer of a running call.</summary>
        /// <returns>False if the call is not running in the journal. Then the recorded outcome stays, and the new answer must not
        /// be sent.</returns>
        public bool Complete(string callId, string answer, bool isError)
        {
            if (Find(callId) is not { Status: CallStatus.Running }) return false;
            JournalEntry entry = Move(callId, CallStatus.Done);
            entry.Kept = null;
            entry.AnswerIsError = isError;
            if (answer.Length > Limits.JournalResult)
            {
                entry.Lost = "too_large";
                return true;
            }
            entry.Answer = answer;
            answers.AddLast(entry);
            answerBytes += answer.Length;
            while (answerBytes > Limits.JournalBytes) DropAnswer(answers.First.Value, "expired");
            return true;
        }

        /// <summary>Marks a call that has not begun as not run.</summary>
        /// <returns>False if the call has begun or ended, or is unknown.</returns>
        public bool Drop(string callId, string reason)
        {
            if (Find(callId) is not { Status: CallStatus.Queued }) return false;
            Move(callId, CallStatus.NotRun).Reason = reason;
            return true;
        }

        /// <summary>
        /// Returns the entry of a call. If the id never arrived, it is sealed: the entry says "not run", and the call will be
        /// refused. If the gateway is unknown, or the entry may have been removed, the returned entry says "forgotten" and is not
        /// stored.
        /// </summary>
        public JournalEntry Ask(string gateway, string callId, long seq)
        {
            Expire();
            if (Find(callId) is { } entry) return entry;
            gateways.TryGetValue(gateway, out Gateway record);
            if (record == null || record.Blind || seq <= record.LetGoUpTo)
            {
                return new JournalEntry { CallId = callId, Gateway = gateway, Seq = seq, Status = CallStatus.Forgotten };
            }
            return Add(new JournalEntry
            {
                CallId = callId, Gateway = gateway, Seq = seq, Status = CallStatus.NotRun, Reason = "sealed"
            });
        }

        /// <summary>
        /// Updates the open entries before the domain unloads. A queued call becomes "not run". A running call becomes
        /// "interrupted", unless its tool saved a state from which it can be resumed.
        /// </summary>
        public void Interrupt()
        {
            foreach (JournalEntry entry in entries.Where(e => e.IsOpen).ToList())
            {
                if (entry.Status == CallStatus.Queued) Drop(entry.CallId, "dropped");
                else if (entry.Kept == null) Move(entry.CallId, CallStatus.Interrupted);
            }
        }

        /// <summary>Marks a call as interrupted: a reload interrupted it, and it cannot be resumed.</summary>
        public void GiveUp(string callId)
        {
            if (Find(callId) is not { Status: CallStatus.Running }) return;
            Move(callId, CallStatus.Interrupted).Kept = null;
        }

        /// <summary>Returns the calls that a reload interrupted and whose tools saved a state.</summary>
        public IReadOnlyList<JournalEntry> Resumable() =>
            entries.Where(e => e.Status == CallStatus.Running && e.Kept != null).ToList();

        /// <summary>Removes ended entries whose status has not changed for <see cref="Limits.JournalAge"/>.</summary>
        public void Expire()
        {
            long oldest = clock.Now - Limits.JournalAge;
            for (LinkedListNode<JournalEntry>? node = entries.First; node != null && node.Value.Since < oldest;)
            {
                LinkedListNode<JournalEntry>? next = node.Next;
                if (!node.Value.IsOpen) Remove(node);
                node = next;
            }
        }

        /// <summary>Writes the whole journal as text, for the next domain.</summary>
        public string Save()
        {
            var list = new JArray(entries.Select(e => new JArray(
                e.CallId, e.Gateway, e.Seq, e.Tool, (int)e.Status, e.Reason!, e.Answer!, e.AnswerIsError, e.Lost!, e.Kept!,
                e.Since)));
            var known = new JArray(gateways.Select(g => new JArray(g.Key, g.Value.LetGoUpTo, g.Value.Blind, g.Value.Greeted)));
            return Json.Write(new JObject { ["v"] = 1, ["letGo"] = gatewaysLetGo, ["gateways"] = known, ["entries"] = list });
        }

        /// <summary>Loads what <see cref="Save"/> wrote.</summary>
        /// <returns>
        /// Null, or why the text cannot be read. Then the journal is empty and reports earlier calls as forgotten.
        /// </returns>
        public string? Load(string text)
        {
            try
            {
                var saved = (JObject)Json.Parse(text);
                gatewaysLetGo = (bool)saved["letGo"]!;
                foreach (JToken g in (JArray)saved["gateways"]!)
                {
                    var record = new Gateway { LetGoUpTo = (long)g[1]!, Blind = (bool)g[2]!, Greeted = (long)g[3]! };
                    gateways.Add((string)g[0]!, record);
                    gatewayClock = Math.Max(gatewayClock, record.Greeted);
                }
                foreach (JToken entry in (JArray)saved["entries"]!) Restore(entry);
                return null;
            }
            catch (Exception e)
            {
                byId.Clear();
                entries.Clear();
                answers.Clear();
                gateways.Clear();
                answerBytes = 0;
                gatewaysLetGo = true;
                return e.Message;
            }
        }

        private void Restore(JToken e)
        {
            var entry = new JournalEntry
            {
                CallId = (string)e[0]!, Gateway = (string)e[1]!, Seq = (long)e[2]!, Tool = (string)e[3]!,
                Status = (CallStatus)(int)e[4]!, Reason = (string?)e[5], Answer = (string?)e[6],
                AnswerIsError = (bool)e[7]!, Lost = (string?)e[8], Kept = (string?)e[9], Since = (long)e[10]!
            };
            byId.Add(entry.CallId, entries.AddLast(entry));
            if (entry.Answer == null) return;
            answers.AddLast(entry);
            answerBytes += entry.Answer.Length;
        }

        private JournalEntry Add(JournalEntry entry)
        {
            Expire();
            if (byId.Count >= Limits.JournalEntries)
            {
                for (LinkedListNode<JournalEntry>? node = entries.First; node != null; node = node.Next)
                {
                    if (node.Value.IsOpen) continue;
                    Remove(node);
                    break;
                }
            }
            entry.Since = clock.Now;
            byId.Add(entry.CallId, entries.AddLast(entry));
            return entry;
        }

        private JournalEntry Move(string callId, CallStatus status)
        {
            LinkedListNode<JournalEntry> node = byId[callId];
            node.Value.Status = status;
            node.Value.Since = clock.Now;
            entries.Remove(node);
            entries.AddLast(node);
            return node.Value;
        }

        private void Remove(LinkedListNode<JournalEntry> node)
        {
            JournalEntry entry = node.Value;
            entries.Remove(node);
            byId.Remove(entry.CallId);
            if (entry.Answer != null) DropAnswer(entry, "expired");
            if (gateways.TryGetValue(entry.Gateway, out Gateway record))
            {
                record.LetGoUpTo = Math.Max(record.LetGoUpTo, entry.Seq);
            }
        }

        private void DropAnswer(JournalEntry entry, string why)
        {
            answerBytes -= entry.Answer!.Length;
            answers.Remove(entry);
            entry.Answer = null;
            entry.Lost = why;
        }

        private void LetGatewayGo()
        {
            string oldest = gateways.OrderBy(g => g.Value.Greeted).First().Key;
            gateways.Remove(oldest);
            gatewaysLetGo = true;
        }

        private sealed class Gateway
        {
            /// <summary>
            /// Highest <c>seq</c> of this gateway's removed entries. An unknown call up to this number is "forgotten".
            /// </summary>
            public long LetGoUpTo { get; set; }

            /// <summary>
            /// Whether an earlier record of this gateway may have been removed. Then all unknown ids are reported as forgotten,
            /// until the gateway's next call arrives.
            /// </summary>
            public bool Blind { get; set; }

            public long Greeted { get; set; }
        }
    }
}
