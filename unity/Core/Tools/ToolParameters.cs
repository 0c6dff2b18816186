#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Converts the arguments of a call to a tool's typed parameters.</summary>
    internal static class ToolParameters
    {
        /// <summary>
        /// Reads parameters by name, ignoring case. A missing parameter keeps its default. An unknown one is ignored. A null is
        /// treated as missing if the type does not allow null, or if it is a text or a list
        /// with a default.
        /// </summary>
        /// <exception cref="ToolParameterException">
        /// The arguments are not an object, a value has the wrong type, or a required one is missing.
        /// </exception>
        public static TSchema Read<TSchema>(string tool, JToken? given) where TSchema : class, new()
        {
            var schema = new TSchema();
            if (given != null && given.Type != JTokenType.Null && given.Type != JTokenType.Object)
            {
                throw Mismatch(tool, "the parameters are no object");
            }
            var values = new Dictionary<string, JToken>(StringComparer.OrdinalIgnoreCase);
            foreach (JProperty property in (given as JObject)?.Properties() ?? Enumerable.Empty<JProperty>())
            {
                values[property.Name] = property.Value;
            }
            foreach (PropertyInfo property in SchemaGenerator.ParametersOf(typeof(TSchema)))
            {
                string name = SchemaGenerator.NameOf(property);
                Type type = property.PropertyType;
                // A tool that gives a text or a list a default does not expect null in its place.
                bool takesNull = Nullable.GetUnderlyingType(type) != null || (!type.IsValueType && property.GetValue(schema) == null);
                bool found = values.TryGetValue(name, out JToken? value);
                if (!found || (value!.Type == JTokenType.Null && !takesNull))
                {
                    if (SchemaGenerator.IsRequired(property)) throw Mismatch(tool, name + " is required");
                    continue;
                }
                property.SetValue(schema, Convert(tool, name, value, type));
            }
            return schema;
        }

        private static object? Convert(string tool, string name, JToken value, Type type)
        {
            Type bare = Nullable.GetUnderlyingType(type) ?? type;
            if (!Fits(value, bare)) throw Mismatch(tool, $"{name} must be {SchemaGenerator.Describe(bare)}, not {Show(value)}");
            try
            {
                object? converted = Json.To(value, type);
                if (converted == null || !bare.IsEnum || IsOneOf(bare, converted, value)) return converted;
            }
            catch (Exception e) when (e is JsonException or FormatException or OverflowException or ArgumentException)
            {
                // The refusal is the same as for a value that is none of the names.
            }
            throw Mismatch(tool, $"{name} must be {SchemaGenerator.Describe(bare)}, not {Show(value)}");
        }

        // .NET accepts numbers that have no name, and combines the numbers of "A, B". What comes out may be another name.
        private static bool IsOneOf(Type type, object converted, JToken value) => type.IsDefined(typeof(FlagsAttribute), false) ||
            (Enum.IsDefined(type, converted) && (value.Type != JTokenType.String || !((string)value!).Contains(",")));

        // Newtonsoft would convert true to 1 and 7 to "7". A wrong type is instead reported to the caller.
        private static bool Fits(JToken value, Type type)
        {
            if (value.Type == JTokenType.Null || typeof(JToken).IsAssignableFrom(type) || type == typeof(object)) return true;
            if (type.IsEnum) return value.Type is JTokenType.String or JTokenType.Integer;
            return Type.GetTypeCode(type) switch
            {
                TypeCode.Boolean => value.Type == JTokenType.Boolean,
                TypeCode.String => value.Type == JTokenType.String,
                TypeCode.Single or TypeCode.Double or TypeCode.Decimal =>
                    value.Type is JTokenType.Integer or JTokenType.Float,
                TypeCode.Object => !type.IsArray || value is not JArray items || items.All(item => Fits(item, type.GetElementType()!)),
                TypeCode.DateTime or TypeCode.Char => value.Type == JTokenType.String,
                _ => value.Type == JTokenType.Integer ||
                    (value.Type == JTokenType.Float && Math.Floor((double)value) == (double)value)
            };
        }

        private static string Show(JToken value)
        {
            string text = value.ToString(Formatting.None);
            return text.Length <= 60 ? text : text.Substring(0, 60) + "...";
        }

        private static ToolParameterException Mismatch(string tool, string what) =>
            new($"Parameter type mismatch for tool '{tool}': {what}");
    }
}
