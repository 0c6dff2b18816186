#nullable enable
using System;

namespace Holdfast
{
    /// <summary>Joins the chunks of a TCP stream, however they were cut, into whole messages. Not thread-safe.</summary>
    internal sealed class MessageReassembler
    {
        private readonly DynamicBuffer buffer = new();
        private readonly Func<int> maxMessage;
        private int header;
        private int length = -1;

        /// <summary>
        /// Creates a reassembler. <paramref name="maxMessage"/> returns the maximum message length, and is called again for each
        /// message.
        /// </summary>
        public MessageReassembler(Func<int> maxMessage) => this.maxMessage = maxMessage;

        /// <summary>Size of the buffer in bytes.</summary>
        public int Capacity => buffer.Capacity;

        /// <summary>Returns free space to receive into. Call <see cref="Commit"/> afterwards.</summary>
        public ArraySegment<byte> Reserve()
        {
            int missing = length < 0 ? 0 : header + length - buffer.Count;
            return buffer.Reserve(Math.Max(missing, 4096));
        }

        /// <summary>Records that <paramref name="count"/> bytes were received into the reserved space.</summary>
        public void Commit(int count) => buffer.Commit(count);

        /// <summary>Appends received bytes.</summary>
        public void Append(byte[] bytes, int offset, int count) => buffer.Append(bytes, offset, count);

        /// <summary>Returns the next whole message, or null if more bytes are needed.</summary>
        /// <exception cref="FrameException">The stream is broken: its next bytes are not a valid header.</exception>
        public byte[]? Next()
        {
            if (length < 0)
            {
                if (!FrameParser.TryReadHeader(buffer, maxMessage(), out int read, out int announced)) return null;
                header = read;
                length = announced;
            }
            if (buffer.Count < header + length) return null;
            byte[] message = buffer.Take(header, length);
            length = -1;
            return message;
        }
    }
}
