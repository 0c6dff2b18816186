#nullable enable
using System;
using System.Collections;
using System.Collections.Generic;
using System.ComponentModel;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Converters;
using Newtonsoft.Json.Linq;
using Newtonsoft.Json.Serialization;

namespace Holdfast
{
    /// <summary>
    /// Reads and writes JSON for the whole package. The project's own Newtonsoft settings have no effect on it.
    /// </summary>
    internal static class Json
    {
        /// <summary>UTF-8 without a byte order mark. Half of a surrogate pair is written as the replacement character.</summary>
        public static readonly UTF8Encoding Utf8 = new(encoderShouldEmitUTF8Identifier: false);

        /// <summary>UTF-8 for reading. Invalid bytes cause an exception.</summary>
        public static readonly UTF8Encoding StrictUtf8 = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

        private static readonly JsonSerializer Serializer = JsonSerializer.Create(Settings());

        /// <summary>Reads one value. Texts that look like dates stay texts.</summary>
        /// <exception cref="JsonException">The text is not JSON, is nested deeper than <see cref="Limits.JsonDepth"/>, or
        /// continues after the value.</exception>
        public static JToken Parse(string text)
        {
            using var reader = new JsonTextReader(new StringReader(text))
            {
                DateParseHandling = DateParseHandling.None,
                FloatParseHandling = FloatParseHandling.Double,
                MaxDepth = Limits.JsonDepth,
                Culture = CultureInfo.InvariantCulture
            };
            JToken value = JToken.Load(reader);
            while (reader.Read())
            {
                if (reader.TokenType != JsonToken.Comment) throw new JsonReaderException("more follows after the value");
            }
            return value;
        }

        /// <summary>Writes a value without white space. Nulls are written too.</summary>
        /// <exception cref="TooDeepException">The value is nested deeper than <see cref="Limits.ResultDepth"/>.</exception>
        /// <exception cref="JsonException">The value refers to itself, or one of its getters throws.</exception>
        public static string Write(object? value)
        {
            var text = new StringBuilder(256);
            using (var writer = new BoundedJsonWriter(new StringWriter(text, CultureInfo.InvariantCulture), Limits.ResultDepth))
            {
                if (value is JToken token) token.WriteTo(writer);
                else Serializer.Serialize(writer, value);
            }
            return text.ToString();
        }

        /// <summary>Whether a JSON text is nested deeper than this. Parts that a tool wrote by itself count too.</summary>
        public static bool IsDeeper(string json, int levels)
        {
            int depth = 0;
            bool inText = false;
            for (int i = 0; i < json.Length; i++)
            {
                char c = json[i];
                if (inText)
                {
                    if (c == '\\') i++;
                    else if (c == '"') inText = false;
                }
                else if (c == '"') inText = true;
                else if (c is '{' or '[' && ++depth > levels) return true;
                else if (c is '}' or ']') depth--;
            }
            return false;
        }

        /// <summary>Converts a value to a token.</summary>
        /// <exception cref="JsonException">Thrown for the same values as by <see cref="Write"/>.</exception>
        public static JToken Token(object? value) => value switch
        {
            null => JValue.CreateNull(),
            JToken token => token,
            _ => JToken.FromObject(value, Serializer)
        };

        /// <summary>Converts a token to a value of a type.</summary>
        /// <exception cref="JsonException">The token does not fit the type.</exception>
        public static object? To(JToken token, Type type) => token.ToObject(type, Serializer);

        /// <summary>
        /// The members that <see cref="To"/> sets in a value of a type, by name, ignoring case. Null if it takes members of any name, or
        /// is no object.
        /// </summary>
        public static IReadOnlyDictionary<string, Type>? MembersOf(Type type)
        {
            if (type == typeof(object) || type.IsAbstract || Serializer.ContractResolver.ResolveContract(type) is not JsonObjectContract contract ||
                contract.Converter != null || contract.ExtensionDataSetter != null)
            {
                return null;
            }
            var members = new Dictionary<string, Type>(StringComparer.OrdinalIgnoreCase);
            foreach (JsonProperty property in contract.CreatorParameters.Concat(contract.Properties.Where(p => p.Writable && !p.Ignored)))
            {
                if (property.PropertyName != null && property.PropertyType != null) members[property.PropertyName] = property.PropertyType;
            }
            return members;
        }

        private static JsonSerializerSettings Settings()
        {
            var settings = new JsonSerializerSettings
            {
                ContractResolver = new ContractsWithoutTypeDescriptor(),
                Culture = CultureInfo.InvariantCulture,
                DateParseHandling = DateParseHandling.None,
                Formatting = Formatting.None,
                MaxDepth = Limits.JsonDepth,
                MissingMemberHandling = MissingMemberHandling.Ignore,
                NullValueHandling = NullValueHandling.Include,
                ReferenceLoopHandling = ReferenceLoopHandling.Error,
                TypeNameHandling = TypeNameHandling.None
            };
            settings.Converters.Add(new StringEnumConverter());
            return settings;
        }
    }

    /// <summary>A value is nested too deep to be written.</summary>
    internal sealed class TooDeepException : JsonException
    {
        public TooDeepException(int levels)
            : base($"it is nested more than {levels} levels deep; return less of it: fewer levels, or a flat list that names parents")
        {
        }
    }

    /// <summary>Writes JSON up to a bound of nesting.</summary>
    internal sealed class BoundedJsonWriter : JsonTextWriter
    {
        private readonly int levels;

        public BoundedJsonWriter(TextWriter text, int levels) : base(text) => this.levels = levels;

        public override void WriteStartObject()
        {
            Deepen();
            base.WriteStartObject();
        }

        public override void WriteStartArray()
        {
            Deepen();
            base.WriteStartArray();
        }

        private void Deepen()
        {
            if (Top >= levels) throw new TooDeepException(levels);
        }
    }

    /// <summary>
    /// Creates contracts of plain classes without TypeDescriptor, which Newtonsoft uses otherwise. TypeDescriptor keeps every
    /// class for ever. Where a domain is unloaded as an assembly load context, it would keep the whole old domain.
    /// </summary>
    internal sealed class ContractsWithoutTypeDescriptor : DefaultContractResolver
    {
        protected override JsonContract CreateContract(Type objectType)
        {
            bool plain = Type.GetTypeCode(objectType) == TypeCode.Object && Nullable.GetUnderlyingType(objectType) == null &&
                objectType.Assembly != typeof(object).Assembly && !typeof(IEnumerable).IsAssignableFrom(objectType) &&
                !objectType.IsDefined(typeof(TypeConverterAttribute), true);
            return plain ? CreateObjectContract(objectType) : base.CreateContract(objectType);
        }
    }
}
