#nullable enable
using System;
using System.Security.Cryptography;

namespace Holdfast
{
    /// <summary>Bytes as lowercase hexadecimal digits.</summary>
    internal static class Hex
    {
        private const string Digits = "0123456789abcdef";

        /// <summary>Encodes the first <paramref name="count"/> bytes, or all if there are fewer.</summary>
        public static string Encode(byte[] bytes, int count = int.MaxValue)
        {
            int length = Math.Min(bytes.Length, count);
            var text = new char[length * 2];
            for (int i = 0; i < length; i++)
            {
                text[2 * i] = Digits[bytes[i] >> 4];
                text[2 * i + 1] = Digits[bytes[i] & 15];
            }
            return new string(text);
        }

        /// <summary>
        /// Returns <paramref name="count"/> random bytes from the system's cryptographic source, as hexadecimal digits.
        /// </summary>
        public static string Random(int count)
        {
            var bytes = new byte[count];
            using (RandomNumberGenerator source = RandomNumberGenerator.Create()) source.GetBytes(bytes);
            return Encode(bytes);
        }

        /// <summary>Compares two texts. The time that this takes does not depend on where they differ.</summary>
        public static bool SameSecret(string a, string b)
        {
            int difference = a.Length ^ b.Length;
            for (int i = 0; i < a.Length && i < b.Length; i++) difference |= a[i] ^ b[i];
            return difference == 0;
        }
    }
}
