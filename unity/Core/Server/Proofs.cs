#nullable enable
using System.Globalization;
using System.Security.Cryptography;

namespace Holdfast
{
    /// <summary>
    /// Computes the proofs by which each side shows that it knows the token, which is never sent (Documentation~/protocol.md, section 4).
    /// </summary>
    internal static class Proofs
    {
        public static string OfEditor(
            string token, string gatewayChallenge, string editorChallenge, string nonce, int pid, string project, int port) =>
            Mac(token, string.Join("\n", "holdfast 2 editor", gatewayChallenge, editorChallenge, nonce, Decimal(pid), project,
                Decimal(port)));

        public static string OfGateway(
            string token, string editorChallenge, string gatewayChallenge, string nonce, string gateway, int port) =>
            Mac(token, string.Join("\n", "holdfast 2 gateway", editorChallenge, gatewayChallenge, nonce, gateway, Decimal(port)));

        private static string Decimal(int number) => number.ToString(CultureInfo.InvariantCulture);

        private static string Mac(string token, string text)
        {
            using var mac = new HMACSHA256(Json.Utf8.GetBytes(token));
            return Hex.Encode(mac.ComputeHash(Json.Utf8.GetBytes(text)));
        }
    }
}
