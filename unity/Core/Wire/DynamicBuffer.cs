#nullable enable
using System;

namespace Holdfast
{
    /// <summary>
    /// A queue of bytes. Bytes are added at the end and taken from the front. If moving its bytes makes enough room, it does not
    /// grow. When it is empty, it releases a large memory block. Not thread-safe.
    /// </summary>
    internal sealed class DynamicBuffer
    {
        private byte[] bytes = Array.Empty<byte>();
        private int start;

        /// <summary>Number of bytes in the buffer.</summary>
        public int Count { get; private set; }

        /// <summary>Size of the buffer's memory in bytes.</summary>
        public int Capacity => bytes.Length;

        /// <summary>The byte at an index from the front.</summary>
        public byte this[int index] => bytes[start + index];

        /// <summary>
        /// Returns space for at least <paramref name="room"/> bytes. Fill some of it, then call <see cref="Commit"/>.
        /// </summary>
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

        /// <summary>Adds the first <paramref name="count"/> bytes of the reserved space.</summary>
        public void Commit(int count) => Count += count;

        /// <summary>Appends bytes.</summary>
        public void Append(byte[] source, int offset, int count)
        {
            ArraySegment<byte> room = Reserve(count);
            Buffer.BlockCopy(source, offset, room.Array!, room.Offset, count);
            Commit(count);
        }

        /// <summary>
        /// Drops the first <paramref name="dropped"/> bytes, then removes the next <paramref name="count"/> bytes and returns
        /// them.
        /// </summary>
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
