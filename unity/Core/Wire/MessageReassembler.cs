#nullable enable
using System;

namespace Holdfast
{
    /// <summary>Chunks of a stream -> whole messages, however TCP has cut them. One thread.</summary>
    internal sealed class MessageReassembler
    {
        private readonly DynamicBuffer buffer = new();
        private readonly Func<int> maxMessage;
        private int header;
        private int length = -1;

        /// <summary>With the bound of a message's length, asked again for every message.</summary>
        public MessageReassembler(Func<int> maxMessage) => this.maxMessage = maxMessage;

        /// <summary>Memory held.</summary>
        public int Capacity => buffer.Capacity;

        /// <summary>Room to receive into, then <see cref="Commit"/>.</summary>
        public ArraySegment<byte> Reserve()
        {
            int missing = length < 0 ? 0 : header + length - buffer.Count;
            return buffer.Reserve(Math.Max(missing, 4096));
        }

        /// <summary>So many bytes were received.</summary>
        public void Commit(int count) => buffer.Commit(count);

        /// <summary>Takes in received bytes.</summary>
        public void Append(byte[] bytes, int offset, int count) => buffer.Append(bytes, offset, count);

        /// <summary>The next whole message, or null if more bytes are needed.</summary>
        /// <exception cref="FrameException">The stream is broken.</exception>
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
