using System;
using System.IO;
using System.IO.Compression;
using System.Linq;

namespace UnityEngine
{
    public static class ImageConversion
    {
        /// <summary>A picture of one colour in each quarter, and a true PNG.</summary>
        public static byte[] EncodeToPNG(this Texture2D tex)
        {
            byte[][] rows = { Row(tex, 0), Row(tex, 2) };
            var packed = new MemoryStream();
            packed.Write(new byte[] { 0x78, 0x01 }, 0, 2);
            using (var deflate = new DeflateStream(packed, CompressionMode.Compress, true))
            {
                for (int y = 0; y < tex.height; y++) deflate.Write(rows[2 * y < tex.height ? 0 : 1], 0, rows[0].Length);
            }
            uint a = 1, b = 0;
            for (int y = 0; y < tex.height; y++)
            {
                foreach (byte one in rows[2 * y < tex.height ? 0 : 1])
                {
                    a = (a + one) % 65521;
                    b = (b + a) % 65521;
                }
            }
            packed.Write(Big((int)(b << 16 | a)), 0, 4);
            byte[] head = Big(tex.width).Concat(Big(tex.height)).Concat(new byte[] { 8, 2, 0, 0, 0 }).ToArray();
            return new byte[] { 0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A }
                .Concat(Chunk("IHDR", head)).Concat(Chunk("IDAT", packed.ToArray())).Concat(Chunk("IEND", new byte[0]))
                // What cannot be packed has three bytes for each pixel.
                .Concat(new byte[EditorHost.Native.Current.Flag("noisyPictures") ? 3 * tex.width * tex.height : 0]).ToArray();
        }

        // Only its beginning is that of a JPEG, and its size is like that of one.
        public static byte[] EncodeToJPG(this Texture2D tex, int quality) =>
            new byte[] { 0xFF, 0xD8, 0xFF, 0xE0 }.Concat(new byte[tex.width * tex.height * quality / (EditorHost.Native.Current.Flag("noisyPictures") ? 40 : 400)]).ToArray();

        private static byte[] Row(Texture2D tex, int first)
        {
            byte[] row = new byte[1 + 3 * tex.width];
            for (int x = 0; x < tex.width; x++)
            {
                Color color = tex.Corners[first + (2 * x < tex.width ? 0 : 1)];
                float[] parts = { color.r, color.g, color.b };
                for (int i = 0; i < 3; i++) row[1 + 3 * x + i] = (byte)Math.Round(parts[i] * 255);
            }
            return row;
        }

        private static byte[] Chunk(string type, byte[] data)
        {
            byte[] body = type.Select(c => (byte)c).Concat(data).ToArray();
            uint crc = 0xFFFFFFFF;
            foreach (byte one in body)
            {
                crc ^= one;
                for (int i = 0; i < 8; i++) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
            }
            return Big(data.Length).Concat(body).Concat(Big((int)~crc)).ToArray();
        }

        private static byte[] Big(int number) => BitConverter.GetBytes(number).Reverse().ToArray();
    }
}
