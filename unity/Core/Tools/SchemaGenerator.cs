#nullable enable
using System;
using System.Collections;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Makes JSON Schemas from C# types. The schema's members are the public properties of a class, their descriptions come from
    /// <c>[Description]</c>, and their defaults are the values after <c>new()</c>. Enums are written by name.
    /// </summary>
    internal static class SchemaGenerator
    {
        // Maximum depth of a schema. A type that nests deeper probably contains itself; the rest of its schema would be useless.
        private const int Depth = 8;

        /// <summary>
        /// Returns the JSON Schema of an object with these parameters. Null gives the schema of an object without members.
        /// </summary>
        public static JObject Generate(Type? parameters)
        {
            if (parameters == null) return new JObject { ["type"] = "object", ["properties"] = new JObject(), ["additionalProperties"] = false };
            return IsFree(parameters) ? Schema(parameters, 0) : ObjectSchema(parameters, 0, true);
        }

        /// <summary>Returns the schema in uLoopMCP's own form: <c>{"Properties":{...},"Required":[]}</c>.</summary>
        public static JObject GenerateLegacy(Type? parameters)
        {
            var properties = new JObject();
            object? defaults = parameters == null ? null : Defaults(parameters);
            foreach (PropertyInfo property in ParametersOf(parameters))
            {
                Type type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType;
                object? value = defaults == null ? null : property.GetValue(defaults);
                properties[NameOf(property)] = new JObject
                {
                    ["Type"] = LegacyType(type),
                    ["Description"] = DescriptionOf(property) ?? "Parameter: " + NameOf(property),
                    // uLoopMCP writes the default of an enum as a number.
                    ["DefaultValue"] = value is Enum e ? new JValue(Convert.ToInt64(e)) : Json.Token(value),
                    ["Enum"] = type.IsEnum ? new JArray(Enum.GetNames(type).Cast<object>().ToArray()) : JValue.CreateNull()
                };
            }
            var required = ParametersOf(parameters).Where(IsRequired).Select(NameOf).Cast<object>().ToArray();
            return new JObject { ["Properties"] = properties, ["Required"] = new JArray(required) };
        }

        /// <summary>Whether a value of this type has members of any names: a dictionary, or JSON.</summary>
        public static bool IsFree(Type type) => type == typeof(object) || typeof(JToken).IsAssignableFrom(type) ||
            typeof(IDictionary).IsAssignableFrom(type) || DictionaryValueOf(type) != null;

        /// <summary>
        /// The properties that are parameters: public, with getter and setter, not hidden. Those of a derived class come first.
        /// </summary>
        public static IReadOnlyList<PropertyInfo> ParametersOf(Type? type)
        {
            var found = new List<PropertyInfo>();
            if (type != null && IsFree(type)) return found;
            var names = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
            for (Type? level = type; level != null && level != typeof(object); level = level.BaseType)
            {
                const BindingFlags Own = BindingFlags.Instance | BindingFlags.Public | BindingFlags.DeclaredOnly;
                foreach (PropertyInfo property in level.GetProperties(Own).OrderBy(p => p.MetadataToken))
                {
                    if (property.GetIndexParameters().Length != 0 || property.GetGetMethod() == null ||
                        property.GetSetMethod() == null || property.IsDefined(typeof(JsonIgnoreAttribute), true) ||
                        property.GetCustomAttribute<BrowsableAttribute>(true) is { Browsable: false })
                    {
                        continue;
                    }
                    if (names.Add(NameOf(property))) found.Add(property);
                }
            }
            return found;
        }

        /// <summary>
        /// The seconds after which a tool is cancelled if its call says nothing else: the default of its TimeoutSeconds. Null if
        /// it has none, or is never cancelled.
        /// </summary>
        public static int? TimeoutSeconds(Type? parameters)
        {
            PropertyInfo? limit = ParametersOf(parameters)
                .FirstOrDefault(p => string.Equals(NameOf(p), nameof(BaseToolSchema.TimeoutSeconds), StringComparison.OrdinalIgnoreCase));
            if (limit == null || Defaults(parameters!) is not { } defaults) return null;
            return limit.GetValue(defaults) is int seconds && seconds > 0 ? seconds : null;
        }

        // Every tool takes it. In each schema it would cost a model more than it is worth.
        private static bool IsEveryTools(PropertyInfo property) => property.Name == nameof(BaseToolSchema.TimeoutSeconds) &&
            property.GetGetMethod()!.GetBaseDefinition().DeclaringType == typeof(BaseToolSchema);

        /// <summary>A parameter's name on the wire.</summary>
        public static string NameOf(PropertyInfo property) =>
            property.GetCustomAttribute<JsonPropertyAttribute>(true)?.PropertyName ?? property.Name;

        /// <summary>Whether the caller must give this parameter.</summary>
        public static bool IsRequired(PropertyInfo property) =>
            property.IsDefined(typeof(McpRequiredAttribute), true) ||
            property.IsDefined(typeof(JsonRequiredAttribute), true) ||
            property.GetCustomAttribute<JsonPropertyAttribute>(true)?.Required is Required.Always or Required.AllowNull;

        /// <summary>Describes a type in words, for error messages.</summary>
        public static string Describe(Type type)
        {
            if (type.IsEnum) return "one of " + string.Join(", ", Enum.GetNames(type));
            return TypeName(type) switch
            {
                "integer" => "a whole number",
                "number" => "a number",
                "boolean" => "true or false",
                "string" => "a text",
                "array" => "a list",
                _ => "an object"
            };
        }

        private static JObject ObjectSchema(Type type, int depth, bool withDefaults)
        {
            var properties = new JObject();
            var schema = new JObject { ["type"] = "object", ["properties"] = properties };
            if (depth >= Depth) return schema;
            var required = new JArray();
            object? defaults = withDefaults ? Defaults(type) : null;
            foreach (PropertyInfo property in ParametersOf(type).Where(p => !IsEveryTools(p)))
            {
                JObject member = Schema(property.PropertyType, depth + 1);
                if (DescriptionOf(property) is { } description) member["description"] = description;
                if (IsRequired(property)) required.Add(NameOf(property));
                else if (defaults != null && property.GetValue(defaults) is { } value) member["default"] = Json.Token(value);
                properties[NameOf(property)] = member;
            }
            if (required.Count > 0) schema["required"] = required;
            // Of a nested type, Newtonsoft may know more members than the schema, such as fields.
            bool isWhole = depth == 0 || (Json.MembersOf(type) is { } members && members.Keys.All(name => properties.ContainsKey(name)));
            if (isWhole) schema["additionalProperties"] = false;
            return schema;
        }

        private static JObject Schema(Type type, int depth)
        {
            // A parameter that takes null may be left out. A list of types with null makes models' APIs refuse every request.
            if (Nullable.GetUnderlyingType(type) is { } bare) return Schema(bare, depth);
            if (type.IsEnum)
            {
                return new JObject
                {
                    ["type"] = "string",
                    ["enum"] = new JArray(Enum.GetNames(type).Cast<object>().ToArray())
                };
            }
            switch (TypeName(type))
            {
                case null:
                    return new JObject();
                case "array":
                    return new JObject
                    {
                        ["type"] = "array",
                        ["items"] = depth < Depth && ItemOf(type) is { } item ? Schema(item, depth + 1) : new JObject()
                    };
                case "object" when DictionaryValueOf(type) is { } value:
                    return new JObject
                    {
                        ["type"] = "object",
                        ["properties"] = new JObject(),
                        ["additionalProperties"] = depth < Depth ? Schema(value, depth + 1) : new JObject()
                    };
                case "object" when typeof(IDictionary).IsAssignableFrom(type) || type == typeof(JObject):
                    return new JObject { ["type"] = "object", ["properties"] = new JObject() };
                case "object":
                    return ObjectSchema(type, depth, false);
                case { } simple:
                    return new JObject { ["type"] = simple };
            }
        }

        // Returns null if any type is allowed.
        private static string? TypeName(Type type)
        {
            if (type == typeof(object) || type == typeof(JToken) || type == typeof(JValue)) return null;
            if (type == typeof(Guid) || type == typeof(Uri) || type == typeof(TimeSpan)) return "string";
            if (type == typeof(byte[])) return "string";
            if (type == typeof(JArray)) return "array";
            switch (Type.GetTypeCode(type))
            {
                case TypeCode.Boolean:
                    return "boolean";
                case TypeCode.Single:
                case TypeCode.Double:
                case TypeCode.Decimal:
                    return "number";
                case TypeCode.String:
                case TypeCode.Char:
                case TypeCode.DateTime:
                    return "string";
                case TypeCode.Object:
                    bool map = typeof(IDictionary).IsAssignableFrom(type) || DictionaryValueOf(type) != null;
                    return !map && type != typeof(JObject) && typeof(IEnumerable).IsAssignableFrom(type) ? "array" : "object";
                default:
                    return "integer";
            }
        }

        private static string LegacyType(Type type) => type.IsEnum ? "string" : TypeName(type) switch
        {
            "integer" or "number" => "number",
            "boolean" => "boolean",
            "array" => "array",
            _ => "string"
        };

        /// <summary>The type of a list's items; null if the type is no list.</summary>
        public static Type? ItemOf(Type type) => type.IsArray
            ? type.GetElementType()
            : Generic(type, typeof(IEnumerable<>))?.GetGenericArguments()[0];

        /// <summary>The type of a dictionary's values; null if the type is none.</summary>
        public static Type? DictionaryValueOf(Type type) => Generic(type, typeof(IDictionary<,>))?.GetGenericArguments()[1];

        private static Type? Generic(Type type, Type definition) => type.GetInterfaces().Prepend(type)
            .FirstOrDefault(i => i.IsGenericType && i.GetGenericTypeDefinition() == definition);

        private static string? DescriptionOf(PropertyInfo property) =>
            property.GetCustomAttribute<DescriptionAttribute>(true)?.Description;

        private static object? Defaults(Type type) =>
            type.IsAbstract || type.GetConstructor(Type.EmptyTypes) == null ? null : Activator.CreateInstance(type);
    }
}
