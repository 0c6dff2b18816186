using System.Globalization;
using System.Text;

namespace EditorHost
{
    /// <summary>Writes the JSON lines that the host prints. The host does not use a JSON library.</summary>
    public static class Lines
    {
        public static string Of(string name, params (string Name, object Value)[] members)
        {
            var text = new StringBuilder("{\"event\":").Append(Quote(name));
            foreach ((string member, object value) in members)
            {
                text.Append(',').Append(Quote(member)).Append(':').Append(value switch
                {
                    null => "null",
                    bool flag => flag ? "true" : "false",
                    int or long => System.Convert.ToString(value, CultureInfo.InvariantCulture),
                    _ => Quote(value.ToString())
                });
            }
            return text.Append('}').ToString();
        }

        public static string Quote(string value)
        {
            var text = new StringBuilder("\"");
            foreach (char c in value)
            {
                if (c == '"' || c == '\\') text.Append('\\').Append(c);
                else if (c < 32 || char.IsSurrogate(c)) text.Append("\\u").Append(((int)c).ToString("x4"));
                else text.Append(c);
            }
            return text.Append('"').ToString();
        }
    }
}
