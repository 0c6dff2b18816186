#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>What the journal says of a call; the words of PROTOCOL.md.</summary>
    internal enum CallStatus
    {
        Queued,
        Running,
        Done,
        Interrupted,
        NotRun,
        Forgotten
    }

    /// <summary>What the journal knows of one call.</summary>
    internal sealed class JournalEntry
    {
        public string CallId { get; set; } = "";

        public string Gateway { get; set; } = "";

        public long Seq { get; set; }

        public string Tool { get; set; } = "";

        public CallStatus Status { get; set; }

        /// <summary>Why it is <see cref="CallStatus.NotRun"/>: sealed, dropped, cancelled.</summary>
        public string? Reason { get; set; }

        /// <summary>The answer as JSON, once it is done.</summary>
        public string? Answer { get; set; }

        /// <summary>Is the answer an error?</summary>
        public bool AnswerIsError { get; set; }

        /// <summary>Why a done call has no answer any more: too_large, expired.</summary>
        public string? Lost { get; set; }

        /// <summary>What a resumable tool kept, as JSON.</summary>
        public string? Kept { get; set; }

        /// <summary>When it came into its present status, by the process's clock.</summary>
        public long Since { get; set; }

        public bool IsOpen => Status is CallStatus.Queued or CallStatus.Running;

        /// <summary>The word on the wire.</summary>
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
    /// The record of what became of every call, by call id. It is what makes "not run" a fact: an id that was asked for
    /// before it came is sealed, and one that may have been let go is never taken for one that never came.
    /// Not thread-safe: <see cref="CallCenter"/>'s lock guards it.
    /// </summary>
    internal sealed class CallJournal
    {
        private readonly Dictionary<string, LinkedListNode<JournalEntry>> byId = new(StringComparer.Ordinal);
        // In the order in which they came into their status, so that the oldest ended one is found first.
        private readonly LinkedList<JournalEntry> entries = new();
        private readonly LinkedList<JournalEntry> answers = new();
        private readonly Dictionary<string, Gateway> gateways = new(StringComparer.Ordinal);
        private readonly IClock clock;
        private long answerBytes;
        private bool gatewaysLetGo;
        private long gatewayClock;

        /// <summary>An empty one.</summary>
        public CallJournal(IClock clock) => this.clock = clock;

        /// <summary>How many entries there are.</summary>
        public int Count => byId.Count;

        /// <summary>Characters of all answers kept.</summary>
        public long AnswerBytes => answerBytes;

        /// <summary>The entry of an id, or null.</summary>
        public JournalEntry? Find(string callId) =>
            byId.TryGetValue(callId, out LinkedListNode<JournalEntry> node) ? node.Value : null;

        /// <summary>A gateway has proven itself on a new connection.</summary>
        public void Greet(string gateway)
        {
            if (!gateways.TryGetValue(gateway, out Gateway record))
            {
                if (gateways.Count >= Limits.JournalGateways) LetGatewayGo();
                // One that is not known may be one that was let go; then nothing can be said of what it sent before.
                gateways.Add(gateway, record = new Gateway { Blind = gatewaysLetGo });
            }
            record.Greeted = ++gatewayClock;
        }

        /// <summary>Enters a call that was read off the wire. The id must not be known.</summary>
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

        /// <summary>The call begins.</summary>
        public void Begin(string callId) => Move(callId, CallStatus.Running);

        /// <summary>A resumable tool keeps what it needs to go on.</summary>
        public void Keep(string callId, string state)
        {
            if (Find(callId) is { Status: CallStatus.Running } entry) entry.Kept = state;
        }

        /// <summary>The call has ended.</summary>
        /// <returns>False if that is no news: what the journal says already is what counts, and nothing may be answered.</returns>
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

        /// <summary>A call that has not begun will not.</summary>
        /// <returns>False if it had begun or ended, or is not known.</returns>
        public bool Drop(string callId, string reason)
        {
            if (Find(callId) is not { Status: CallStatus.Queued }) return false;
            Move(callId, CallStatus.NotRun).Reason = reason;
            return true;
        }

        /// <summary>What became of a call. An id that never came is sealed by this question.</summary>
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
        /// The domain is about to unload: what has not begun will not, what runs is cut, unless it kept what it needs to go on.
        /// </summary>
        public void Interrupt()
        {
            foreach (JournalEntry entry in entries.Where(e => e.IsOpen).ToList())
            {
                if (entry.Status == CallStatus.Queued) Drop(entry.CallId, "dropped");
                else if (entry.Kept == null) Move(entry.CallId, CallStatus.Interrupted);
            }
        }

        /// <summary>A call that crossed a reload cannot go on after all.</summary>
        public void GiveUp(string callId)
        {
            if (Find(callId) is not { Status: CallStatus.Running }) return;
            Move(callId, CallStatus.Interrupted).Kept = null;
        }

        /// <summary>The calls that crossed a reload and go on.</summary>
        public IReadOnlyList<JournalEntry> Resumable() =>
            entries.Where(e => e.Status == CallStatus.Running && e.Kept != null).ToList();

        /// <summary>Lets go what is too old.</summary>
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

        /// <summary>All of it as text, to outlive the domain.</summary>
        public string Save()
        {
            var list = new JArray(entries.Select(e => new JArray(
                e.CallId, e.Gateway, e.Seq, e.Tool, (int)e.Status, e.Reason!, e.Answer!, e.AnswerIsError, e.Lost!, e.Kept!,
                e.Since)));
            var known = new JArray(gateways.Select(g => new JArray(g.Key, g.Value.LetGoUpTo, g.Value.Blind, g.Value.Greeted)));
            return Json.Write(new JObject { ["v"] = 1, ["letGo"] = gatewaysLetGo, ["gateways"] = known, ["entries"] = list });
        }

        /// <summary>Takes in what <see cref="Save"/> gave.</summary>
        /// <returns>False if it cannot be read; then nothing is known, and nothing is said of what came before.</returns>
        public bool Load(string text)
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
                foreach (JToken e in (JArray)saved["entries"]!) Restore(e);
                return true;
            }
            catch (Exception)
            {
                byId.Clear();
                entries.Clear();
                answers.Clear();
                gateways.Clear();
                answerBytes = 0;
                gatewaysLetGo = true;
                return false;
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
            /// <summary>Highest seq of an entry that was let go.</summary>
            public long LetGoUpTo { get; set; }

            /// <summary>It may have been known before: until its next call comes, nothing is said of ids that are not known.</summary>
            public bool Blind { get; set; }

            public long Greeted { get; set; }
        }
    }
}
