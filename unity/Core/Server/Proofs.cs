#nullable enable
using System.Globalization;
using System.Security.Cryptography;

namespace Holdfast
{
    /// <summary>
    /// Computes the proofs by which each side shows that it knows the token, which is never sent (PROTOCOL.md, section 4).
    /// </summary>
    internal static class Proofs
    {
        public static string OfEditor(
            string token, string gatewayChallenge, string editorChallenge, string nonce, int pid, string project) =>
            Mac(token, string.Join("\n", "holdfast 1 editor", gatewayChallenge, editorChallenge, nonce,
                pid.ToString(CultureInfo.InvariantCulture), project));

        public static string OfGateway(
            string token, string editorChallenge, string gatewayChallenge, string nonce, string gateway) =>
            Mac(token, string.Join("\n", "holdfast 1 gateway", editorChallenge, gatewayChallenge, nonce, gateway));

        private static string Mac(string token, string text)
        {
            using var mac = new HMACSHA256(Json.Utf8.GetBytes(token));
            return Hex.Encode(mac.ComputeHash(Json.Utf8.GetBytes(text)));
        }
    }
}
