#nullable enable
using System;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests how an editor that runs no frames is woken or shown again. Its clock moves only when the test moves it.
    /// </summary>
    public sealed class WakeTests
    {
        private TestClock clock = null!;
        private TestEditor editor = null!;

        [SetUp]
        public void SetUp()
        {
            HoldTool.Begun.Clear();
            clock = new TestClock();
            editor = new TestEditor(e => e.Clock = clock);
        }

        [TearDown]
        public void TearDown() => editor.Dispose();

        private TestClient Gateway()
        {
            var client = new TestClient(editor.Port);
            client.Greet(editor);
            return client;
        }

        private static void Call(TestClient client, string tool, object arguments) =>
            client.Post("holdfast/call", new { callId = "a", seq = 1, tool, arguments });

        [Test]
        public void An_editor_whose_frames_stay_away_while_a_call_waits_is_shown_once()
        {
            using TestClient client = Gateway();
            // This tool waits for frames as long as it runs.
            Call(client, "job", new { Key = "shown" });
            HoldTool.AwaitBegun("shown");
            for (int i = 1; i <= 2; i++)
            {
                Pass(2 * Limits.FrameMissed, true);
                Assert.That(editor.Restores, Is.EqualTo(i - 1), "frames come");
                using (editor.Freeze())
                {
                    Pass(Limits.FrameMissed, false);
                    Assert.That(editor.Restores, Is.EqualTo(i - 1), "the next one is not missed yet");
                    Pass(1, false);
                    Assert.That(editor.Restores, Is.EqualTo(i));
                    Pass(2 * Limits.FrameMissed, false);
                    Assert.That(editor.Restores, Is.EqualTo(i), "and left alone after that");
                }
            }

            // Advances the clock in small steps and waits until the housekeeper has seen each. After a larger step it would take
            // the work as ended.
            void Pass(int milliseconds, bool frames)
            {
                for (int left = milliseconds; left > 0; left -= Limits.WakeTail - 1)
                {
                    clock.Now += Math.Min(left, Limits.WakeTail - 1);
                    if (frames) TestEditor.Until(() => editor.Bridge.Parts.MainThread.FrameAge == TimeSpan.Zero);
                    editor.AwaitLook();
                }
            }
        }

        [Test]
        public void A_call_that_a_reload_resumed_ends_after_an_hour()
        {
            using (TestClient client = Gateway())
            {
                Call(client, "job", new { Key = "endless" });
                HoldTool.AwaitBegun("endless");
            }
            editor.Reload();
            using TestClient after = Gateway();
            TestEditor.Until(() => editor.Bridge.Info.Status.Running == 1);
            string Status() => (string)after.Ask("holdfast/outcome", new { calls = new[] { new { callId = "a", seq = 1 } } })
                ["result"]!["outcomes"]![0]!["status"]!;
            clock.Now += Limits.ToolTimeoutSeconds * 1000L - 1;
            editor.AwaitLook();
            Assert.That(Status(), Is.EqualTo("running"));
            clock.Now += 1;
            TestEditor.Until(() => Status() == "done");
        }

        [Test]
        public void An_editor_is_woken_while_work_waits_and_only_if_it_may_be()
        {
            editor.Wakeable = false;
            using TestClient client = Gateway();
            using (editor.Freeze())
            {
                // Waits until a turn of the housekeeper is over, so that wake-ups that were requested earlier are not counted.
                Call(client, "fail", new { });
                editor.AwaitLook();
                int before = editor.Signals;
                editor.AwaitLook();
                Assert.That(editor.Signals, Is.EqualTo(before));
                editor.Wakeable = true;
                TestEditor.Until(() => editor.Signals > before);
            }
        }

        [Test]
        public void An_editor_is_kept_awake_for_as_long_as_a_call_runs()
        {
            using TestClient client = Gateway();
            // This tool waits for the test. It waits for no frame and puts nothing into the queue of the main thread.
            Call(client, "hold", new { Key = "awake" });
            HoldTool.AwaitBegun("awake");
            for (int i = 0; i < 5; i++)
            {
                clock.Now += 2 * Limits.WakeTail;
                int before = editor.Signals;
                TestEditor.Until(() => editor.Signals >= before + 2);
            }
            HoldTool.Release("awake");
            client.Await(m => m["result"] != null);
            // The time after the call is over once the clock passes it, and the thread then sleeps.
            TestEditor.Until(() =>
            {
                clock.Now += 2 * Limits.WakeTail;
                int before = editor.Signals;
                System.Threading.Thread.Sleep(20 * Limits.WakeWhileBusy);
                return editor.Signals == before;
            });
        }
    }
}
