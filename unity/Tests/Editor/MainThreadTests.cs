#nullable enable
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;

namespace Holdfast.Tests
{
    public sealed class MainThreadTests
    {
        private readonly TestClock clock = new();
        private readonly TestLog log = new();

        [Test]
        public void Posted_work_runs_in_the_next_frame_in_order()
        {
            var queue = new MainThreadQueue(clock, log);
            var done = new List<int>();
            queue.Post(() => done.Add(1));
            queue.Post(() => throw new InvalidOperationException("x"));
            queue.Post(() => done.Add(2));
            Assert.That(done, Is.Empty);
            queue.RunFrame();
            Assert.That(done, Is.EqualTo(new[] { 1, 2 }));
            Assert.That(log.Lines, Has.Count.EqualTo(1));
        }

        [Test]
        public void A_frame_takes_no_more_than_its_budget()
        {
            var queue = new MainThreadQueue(clock, log);
            int done = 0;
            for (int i = 0; i < 5; i++)
            {
                queue.Post(() =>
                {
                    done++;
                    clock.Now += Limits.FrameBudget / 2;
                });
            }
            queue.RunFrame();
            Assert.That(done, Is.EqualTo(2));
            queue.RunFrame();
            queue.RunFrame();
            Assert.That(done, Is.EqualTo(5));
        }

        [Test]
        public void Switching_goes_on_on_the_main_thread()
        {
            var queue = new MainThreadQueue(clock, log);
            int at = 0;
            async Task Go()
            {
                await queue.Switch();
                at = Environment.CurrentManagedThreadId;
            }

            Task task = null!;
            var other = new Thread(() => task = Go());
            other.Start();
            other.Join();
            Assert.That(task.IsCompleted, Is.False);
            queue.RunFrame();
            Assert.That(task.IsCompleted);
            Assert.That(at, Is.EqualTo(Environment.CurrentManagedThreadId));
            Assert.That(Go().IsCompleted, "on the main thread it goes on at once");
        }

        [Test]
        public void Frames_are_counted_and_a_cancelled_wait_ends()
        {
            var queue = new MainThreadQueue(clock, log);
            async Task Wait(int frames, CancellationToken token) => await queue.Frames(frames, token);

            Task two = Wait(2, default);
            queue.RunFrame();
            Assert.That(two.IsCompleted, Is.False);
            queue.RunFrame();
            Assert.That(two.IsCompleted);
            var cancel = new CancellationTokenSource();
            Task never = Wait(1000, cancel.Token);
            cancel.Cancel();
            queue.RunFrame();
            Assert.That(never.IsCanceled);
        }

        [Test]
        public void A_tool_goes_on_although_the_queue_was_full()
        {
            var queue = new MainThreadQueue(clock, log);
            while (queue.Post(() => { })) { }
            Task task = null!;
            async Task Go() => await queue.Switch();
            var other = new Thread(() => task = Go());
            other.Start();
            other.Join();
            queue.RunFrame();
            Assert.That(task.IsCompleted);
        }

        [Test]
        public void The_age_of_the_last_frame_is_known()
        {
            var queue = new MainThreadQueue(clock, log);
            clock.Now += 700;
            Assert.That(queue.FrameAge.TotalMilliseconds, Is.EqualTo(700));
            queue.RunFrame();
            Assert.That(queue.FrameAge.TotalMilliseconds, Is.EqualTo(0));
        }

        [Test]
        public void What_cleans_up_runs_also_when_no_frame_comes_any_more()
        {
            var queue = new MainThreadQueue(clock, log);
            var done = new List<int>();
            queue.PostCleanup(() => done.Add(1));
            Assert.That(queue.HasWork);
            queue.RunFrame();
            Assert.That(done, Is.EqualTo(new[] { 1 }));
            queue.PostCleanup(() => throw new InvalidOperationException("x"));
            queue.PostCleanup(() => done.Add(2));
            queue.Close();
            Assert.That(done, Is.EqualTo(new[] { 1, 2 }));
            Assert.That(queue.PostCleanup(() => done.Add(3)), Is.False);
        }

        [Test]
        public void A_closed_queue_takes_nothing_and_runs_nothing()
        {
            var queue = new MainThreadQueue(clock, log);
            int done = 0;
            queue.Post(() => done++);
            queue.Close();
            Assert.That(queue.Post(() => done++), Is.False);
            queue.RunFrame();
            Assert.That(done, Is.Zero);
        }
    }
}
