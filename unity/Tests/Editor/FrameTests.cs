#nullable enable
using System;
using System.Collections.Generic;
using System.Text;
using NUnit.Framework;

namespace Holdfast.Tests
{
    public sealed class FrameTests
    {
        private static List<string> Feed(int chunk, int max, params string[] parts)
        {
            var reassembler = new MessageReassembler(() => max);
            var found = new List<string>();
            byte[] bytes = Encoding.UTF8.GetBytes(string.Concat(parts));
            for (int at = 0; at < bytes.Length; at += chunk)
            {
                reassembler.Append(bytes, at, Math.Min(chunk, bytes.Length - at));
                for (byte[]? message = reassembler.Next(); message != null; message = reassembler.Next())
                {
                    found.Add(Encoding.UTF8.GetString(message));
                }
            }
            return found;
        }

        private static string Frame(string body) => $"Content-Length: {Encoding.UTF8.GetByteCount(body)}\r\n\r\n{body}";

        [TestCase(1)]
        [TestCase(2)]
        [TestCase(7)]
        [TestCase(1000)]
        public void Messages_are_whole_however_the_stream_is_cut(int chunk)
        {
            string[] bodies = { "{}", "{\"a\":\"日本語 ü\"}", "", new string('x', 3000) };
            Assert.That(Feed(chunk, 4096, Array.ConvertAll(bodies, Frame)), Is.EqualTo(bodies));
        }

        [Test]
        public void Names_are_taken_in_any_case_and_other_headers_passed_over() => Assert.That(
            Feed(3, 100, "X-Other: a b c\r\ncontent-LENGTH:2\r\nContent-Type: x/y; charset=utf-8\r\n\r\n{}"),
            Is.EqualTo(new[] { "{}" }));

        [TestCase("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}", TestName = "A browser's POST")]
        [TestCase("GET http://127.0.0.1/ HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", TestName = "A request with a colon in its line")]
        [TestCase("{\"jsonrpc\":\"2.0\"}\n", TestName = "A line of JSON")]
        [TestCase("Content-Length: 2\n\n{}", TestName = "Lines without CR")]
        [TestCase("Content-Length: -1\r\n\r\n", TestName = "A negative length")]
        [TestCase("Content-Length: 0x10\r\n\r\n", TestName = "A hexadecimal length")]
        [TestCase("Content-Length: 1 2\r\n\r\n", TestName = "Two numbers")]
        [TestCase("Content-Length: \r\n\r\n", TestName = "No number")]
        [TestCase("Content-Length: 000000000000000000002\r\n\r\n", TestName = "Twenty-one digits")]
        [TestCase("Content-Length: 2\r\nContent-Length: 3\r\n\r\n", TestName = "Two lengths")]
        [TestCase("Content-Length: 101\r\n\r\n", TestName = "Too long a message")]
        [TestCase("Content-Length: 99999999999999999999\r\n\r\n", TestName = "A length beyond 64 bits")]
        [TestCase("X: y\r\n\r\n", TestName = "No length")]
        [TestCase(": 5\r\n\r\n", TestName = "No name")]
        [TestCase("\r\n\r\n", TestName = "An empty header")]
        [TestCase("\u0001", TestName = "A control character")]
        public void What_is_no_header_is_refused(string bytes) => Assert.Throws<FrameException>(() => Feed(1, 100, bytes));

        [Test]
        public void A_header_without_end_is_refused_at_its_bound()
        {
            Assert.That(Feed(64, 100, "X: " + new string('y', Limits.FrameHeader - 4)), Is.Empty);
            Assert.Throws<FrameException>(() => Feed(64, 100, "X: " + new string('y', Limits.FrameHeader)));
        }

        [Test]
        public void Memory_of_a_large_message_is_given_back()
        {
            var reassembler = new MessageReassembler(() => 10_000_000);
            byte[] frame = Encoding.UTF8.GetBytes(Frame(new string('x', 1_000_000)));
            reassembler.Append(frame, 0, frame.Length);
            Assert.That(reassembler.Next(), Has.Length.EqualTo(1_000_000));
            Assert.That(reassembler.Capacity, Is.LessThanOrEqualTo(Limits.BufferKept));
        }

        [Test]
        public void A_message_that_is_announced_and_not_sent_takes_no_memory_beyond_it()
        {
            var reassembler = new MessageReassembler(() => 10_000_000);
            byte[] start = Encoding.UTF8.GetBytes("Content-Length: 5000000\r\n\r\nx");
            reassembler.Append(start, 0, start.Length);
            Assert.That(reassembler.Next(), Is.Null);
            Assert.That(reassembler.Reserve().Count, Is.InRange(4_999_999, 5_010_000));
        }
    }
}
