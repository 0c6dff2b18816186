#nullable enable
using System;
using System.Globalization;

namespace Holdfast
{
    /// <summary>Thrown if a header is invalid or announces too long a message. The rest of the stream cannot be read.</summary>
    internal sealed class FrameException : Exception
    {
        public FrameException(string message) : base(message)
        {
        }
    }

    /// <summary>Reads and writes <c>Content-Length</c> headers.</summary>
    internal static class FrameParser
    {
        private const string LengthName = "Content-Length";

        /// <summary>Reads a whole header from the front of the buffer.</summary>
        /// <returns>False if more bytes are needed.</returns>
        /// <exception cref="FrameException">The bytes are not a header, and no further bytes could make them one.</exception>
        public static bool TryReadHeader(DynamicBuffer buffer, int maxMessage, out int headerLength, out int messageLength)
        {
            headerLength = 0;
            messageLength = -1;
            int lineStart = 0;
            int bound = Math.Min(buffer.Count, Limits.FrameHeader);
            for (int i = 0; i < bound; i++)
            {
                byte b = buffer[i];
                // No header of this protocol contains control characters or bytes above ASCII. So a peer that sends something
                // else is refused at the first such byte.
                if (b >= 127 || (b < 32 && b != '\r' && b != '\n' && b != '\t'))
                {
                    throw new FrameException("a header has only printable ASCII");
                }
                if (b != '\n') continue;
                if (i == 0 || buffer[i - 1] != '\r') throw new FrameException("a header's lines end with CR LF");
                if (i - 1 == lineStart)
                {
                    if (messageLength < 0) throw new FrameException("a header needs a Content-Length");
                    headerLength = i + 1;
                    return true;
                }
                ReadLine(buffer, lineStart, i - 1, maxMessage, ref messageLength);
                lineStart = i + 1;
            }
            if (buffer.Count >= Limits.FrameHeader)
            {
                throw new FrameException($"a header has at most {Limits.FrameHeader} bytes");
            }
            return false;
        }

        /// <summary>Returns the header of a message of <paramref name="length"/> bytes.</summary>
        public static byte[] Header(int length) => Json.Utf8.GetBytes(
            LengthName + ": " + length.ToString(CultureInfo.InvariantCulture) + "\r\n\r\n");

        // The name is checked strictly. A web page can make a browser send a POST with a Content-Length to this port. Its request
        // line must not be mistaken for a header.
        private static void ReadLine(DynamicBuffer buffer, int from, int to, int maxMessage, ref int messageLength)
        {
            int colon = from;
            while (colon < to && buffer[colon] != ':')
            {
                byte b = buffer[colon++];
                bool allowed = b == '-' || (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z');
                if (!allowed) throw new FrameException("a header's lines have the form 'Name: value'");
            }
            if (colon == to || colon == from) throw new FrameException("a header's lines have the form 'Name: value'");
            if (!IsLengthName(buffer, from, colon)) return;
            if (messageLength >= 0) throw new FrameException("a header has one Content-Length");
            int at = colon + 1;
            while (at < to && buffer[at] == ' ') at++;
            int end = to;
            while (end > at && buffer[end - 1] == ' ') end--;
            if (at == end || end - at > 20) throw new FrameException("a Content-Length is a number");
            long value = 0;
            for (; at < end; at++)
            {
                if (buffer[at] < '0' || buffer[at] > '9') throw new FrameException("a Content-Length is a number");
                value = Math.Min(value * 10 + buffer[at] - '0', int.MaxValue);
            }
            if (value > maxMessage) throw new FrameException($"a message has at most {maxMessage} bytes");
            messageLength = (int)value;
        }

        private static bool IsLengthName(DynamicBuffer buffer, int from, int to)
        {
            if (to - from != LengthName.Length) return false;
            for (int i = 0; i < LengthName.Length; i++)
            {
                if (char.ToLowerInvariant((char)buffer[from + i]) != char.ToLowerInvariant(LengthName[i])) return false;
            }
            return true;
        }
    }
}
