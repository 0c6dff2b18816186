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
        /// Reads parameters by name, ignoring case. A missing parameter keeps its default. An unknown one is refused. A null is
        /// treated as missing if the type does not allow null, or if it is a text or a list
        /// with a default.
        /// </summary>
        /// <exception cref="ToolParameterException">
        /// The arguments are not an object, one is not known, a value has the wrong type, or a required one is missing.
        /// </exception>
        public static TSchema Read<TSchema>(string tool, JToken? given) where TSchema : class, new()
        {
            CheckNames(tool, typeof(TSchema), given);
            if (SchemaGenerator.IsFree(typeof(TSchema))) return (TSchema)Json.To(given as JObject ?? new JObject(), typeof(TSchema))!;
            var schema = new TSchema();
            var values = new Dictionary<string, JToken>(StringComparer.OrdinalIgnoreCase);
            foreach (JProperty property in (given as JObject)?.Properties() ?? Enumerable.Empty<JProperty>())
            {
                values[property.Name] = property.Value;
            }
            var missing = new List<PropertyInfo>();
            foreach (PropertyInfo property in SchemaGenerator.ParametersOf(typeof(TSchema)))
            {
                string name = SchemaGenerator.NameOf(property);
                Type type = property.PropertyType;
                // A tool that gives a text or a list a default does not expect null in its place.
                bool takesNull = Nullable.GetUnderlyingType(type) != null || (!type.IsValueType && property.GetValue(schema) == null);
                bool found = values.TryGetValue(name, out JToken? value);
                if (!found || (value!.Type == JTokenType.Null && !takesNull))
                {
                    if (SchemaGenerator.IsRequired(property)) missing.Add(property);
                    continue;
                }
                property.SetValue(schema, Convert(tool, name, value, type));
            }
            if (missing.Count > 0) throw new ToolParameterException($"{tool} needs {string.Join(" and ", missing.Select(Need))}");
            return schema;
        }

        /// <summary>Checks that a tool knows all names in its arguments. The values are checked when they are read.</summary>
        /// <exception cref="ToolParameterException">The arguments are not an object, or the tool does not know a name.</exception>
        public static void CheckNames(string tool, Type? parameters, JToken? given)
        {
            if (given == null || given.Type == JTokenType.Null) return;
            if (given is not JObject arguments) throw new ToolParameterException($"The arguments of {tool} must be an object, not {Show(given)}");
            if (parameters != null && SchemaGenerator.IsFree(parameters)) return;
            List<string> known = SchemaGenerator.ParametersOf(parameters).Select(SchemaGenerator.NameOf).ToList();
            UnknownArguments.Refuse(tool, "", arguments, known);
            foreach (PropertyInfo property in SchemaGenerator.ParametersOf(parameters))
            {
                string name = SchemaGenerator.NameOf(property);
                if (arguments.GetValue(name, StringComparison.OrdinalIgnoreCase) is { } value) CheckNames(tool, name, property.PropertyType, value);
            }
        }

        // Checks the names in what is nested. `type` says what is declared there.
        private static void CheckNames(string tool, string at, Type type, JToken value)
        {
            Type bare = Nullable.GetUnderlyingType(type) ?? type;
            if (value is JArray items && SchemaGenerator.ItemOf(bare) is { } item)
            {
                for (int i = 0; i < items.Count; i++) CheckNames(tool, $"{at}[{i}]", item, items[i]);
            }
            else if (value is JObject map && SchemaGenerator.DictionaryValueOf(bare) is { } one)
            {
                foreach (JProperty property in map.Properties()) CheckNames(tool, $"{at}.{property.Name}", one, property.Value);
            }
            else if (value is JObject whole && Json.MembersOf(bare) is { } members)
            {
                UnknownArguments.Refuse(tool, at + ".", whole, members.Keys.ToList());
                PropertyInfo? missing = bare.GetProperties().FirstOrDefault(p => SchemaGenerator.IsRequired(p) &&
                    !(whole.TryGetValue(SchemaGenerator.NameOf(p), StringComparison.OrdinalIgnoreCase, out JToken? there) && there.Type != JTokenType.Null));
                if (missing != null) throw new ToolParameterException($"{tool} needs {at}.{Need(missing)}");
                foreach (JProperty property in whole.Properties())
                {
                    if (members.TryGetValue(property.Name, out Type? member)) CheckNames(tool, $"{at}.{property.Name}", member, property.Value);
                }
            }
        }

        private static string Need(PropertyInfo property) => SchemaGenerator.NameOf(property) +
            (property.PropertyType.IsEnum ? ": " + string.Join(" or ", Enum.GetNames(property.PropertyType)) : "");

        private static object? Convert(string tool, string name, JToken value, Type type)
        {
            Type bare = Nullable.GetUnderlyingType(type) ?? type;
            if (Unfit(name, value, bare) is { } unfit) throw Mismatch(tool, unfit.At, unfit.Value, SchemaGenerator.Describe(unfit.Type));
            try
            {
                object? converted = Json.To(value, type);
                if (converted == null || !bare.IsEnum || IsOneOf(bare, converted, value)) return converted;
            }
            catch (Exception e) when (PartIn(e, name) is { } part)
            {
                Type? item = SchemaGenerator.ItemOf(bare);
                JToken? wrong = item is { IsEnum: true } ? value.SelectToken(part.Substring(name.Length)) : null;
                throw wrong != null ? Mismatch(tool, part, wrong, SchemaGenerator.Describe(item!))
                    : new ToolParameterException($"{part} of {tool} has a value of a wrong type");
            }
            catch (Exception e) when (e is JsonException or FormatException or OverflowException or ArgumentException)
            {
                // The refusal is the same as for a value that is none of the names.
            }
            throw Mismatch(tool, name, value, RangeOf(bare) ?? SchemaGenerator.Describe(bare));
        }

        // Where in a list or an object the value is that could not be converted; null if that is not known.
        private static string? PartIn(Exception e, string name)
        {
            string? path = e is JsonReaderException read ? read.Path : e is JsonSerializationException written ? written.Path : null;
            // It begins at the root of the whole request.
            int at = path?.IndexOf(name, StringComparison.OrdinalIgnoreCase) ?? -1;
            return at >= 0 && path!.Length > at + name.Length ? path.Substring(at) : null;
        }

        // Null if it is no whole number. Such a value fits in all respects except its size.
        private static string? RangeOf(Type type) => !type.IsEnum && SchemaGenerator.Describe(type) == "a whole number" &&
            type.GetField("MinValue")?.GetValue(null) is { } least && type.GetField("MaxValue")?.GetValue(null) is { } most
            ? FormattableString.Invariant($"a whole number from {least} to {most}")
            : null;

        // .NET accepts numbers that have no name, and combines the numbers of "A, B". What comes out may be another name.
        private static bool IsOneOf(Type type, object converted, JToken value) => type.IsDefined(typeof(FlagsAttribute), false) ||
            (Enum.IsDefined(type, converted) && (value.Type != JTokenType.String || !((string)value!).Contains(",")));

        // Returns the value, or the item of a list, that has another type; null if all fits.
        private static (string At, JToken Value, Type Type)? Unfit(string at, JToken value, Type type)
        {
            if (value is JArray items && type.IsArray)
            {
                Type item = type.GetElementType()!;
                return items.Select((one, i) => Unfit($"{at}[{i}]", one, Nullable.GetUnderlyingType(item) ?? item)).FirstOrDefault(unfit => unfit != null);
            }
            return Fits(value, type) ? null : (at, value, type);
        }

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
                TypeCode.Object => true,
                TypeCode.DateTime or TypeCode.Char => value.Type == JTokenType.String,
                _ => value.Type == JTokenType.Integer ||
                    (value.Type == JTokenType.Float && Math.Floor((double)value) == (double)value)
            };
        }

        private static string Show(JToken value) => Shortened(value.ToString(Formatting.None));

        internal static string Shortened(string text) => text.Length <= Limits.ShownArgument ? text : text.Substring(0, Limits.ShownArgument) + "...";

        private static ToolParameterException Mismatch(string tool, string name, JToken value, string wanted) =>
            new($"{name} of {tool} must be {wanted}, not {Show(value)}");
    }
}
