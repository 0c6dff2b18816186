#nullable enable
using System;

namespace Holdfast
{
    /// <summary>
    /// Bytes that come in at the end and are taken at the front. Grows as needed, moves instead of growing where it can,
    /// and gives large memory back when it is empty. One thread.
    /// </summary>
    internal sealed class DynamicBuffer
    {
        private byte[] bytes = Array.Empty<byte>();
        private int start;

        /// <summary>How many there are.</summary>
        public int Count { get; private set; }

        /// <summary>How much memory it holds.</summary>
        public int Capacity => bytes.Length;

        /// <summary>The byte at a place counted from the front.</summary>
        public byte this[int index] => bytes[start + index];

        /// <summary>Room for at least so many bytes more. Fill some of it, then call <see cref="Commit"/>.</summary>
        public ArraySegment<byte> Reserve(int room)
        {
            int needed = checked(Count + room);
            if (start + needed > bytes.Length)
            {
                byte[] target = bytes;
                if (needed > bytes.Length) target = new byte[Math.Max(needed, (int)Math.Min(int.MaxValue / 2, 2L * bytes.Length))];
                Buffer.BlockCopy(bytes, start, target, 0, Count);
                bytes = target;
                start = 0;
            }
            return new ArraySegment<byte>(bytes, start + Count, bytes.Length - start - Count);
        }

        /// <summary>So many bytes of what was reserved are filled.</summary>
        public void Commit(int count) => Count += count;

        /// <summary>Puts bytes at the end.</summary>
        public void Append(byte[] source, int offset, int count)
        {
            ArraySegment<byte> room = Reserve(count);
            Buffer.BlockCopy(source, offset, room.Array!, room.Offset, count);
            Commit(count);
        }

        /// <summary>Takes bytes from the front, after dropping some.</summary>
        public byte[] Take(int dropped, int count)
        {
            var taken = new byte[count];
            Buffer.BlockCopy(bytes, start + dropped, taken, 0, count);
            start += dropped + count;
            Count -= dropped + count;
            if (Count == 0)
            {
                start = 0;
                if (bytes.Length > Limits.BufferKept) bytes = Array.Empty<byte>();
            }
            return taken;
        }
    }
}
