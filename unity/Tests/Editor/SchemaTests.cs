#nullable enable
using System.Collections;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;
using Description = System.ComponentModel.DescriptionAttribute;

namespace Holdfast.Tests
{
    public sealed class SchemaTests
    {
        private enum Colour
        {
            Red,
            Green
        }

        private sealed class Nested
        {
            [Description("How much")]
            public double Amount { get; set; }
        }

        private sealed class Parameters : BaseToolSchema
        {
            [Description("What to say"), McpRequired]
            public string Text { get; set; } = "";

            public Colour Colour { get; set; } = Colour.Green;

            public int? Layer { get; set; }

            public string[] Names { get; set; } = { "a" };

            public Dictionary<string, int> Counts { get; set; } = new();

            public List<Nested> Parts { get; set; } = new();

            [Browsable(false)]
            public string Hidden { get; set; } = "";

            public string ReadOnly => "";

            public override int TimeoutSeconds { get; set; } = 30;
        }

        [Test]
        public void A_class_becomes_its_schema()
        {
            JObject schema = SchemaGenerator.Generate(typeof(Parameters));
            var expected = JObject.Parse(@"{'type':'object','properties':{
                'Text':{'type':'string','description':'What to say'},
                'Colour':{'type':'string','enum':['Red','Green'],'default':'Green'},
                'Layer':{'type':'integer'},
                'Names':{'type':'array','items':{'type':'string'},'default':['a']},
                'Counts':{'type':'object','properties':{},'additionalProperties':{'type':'integer'},'default':{}},
                'Parts':{'type':'array','items':{'type':'object','properties':{'Amount':{'type':'number','description':'How much'}},'additionalProperties':false},'default':[]}},
                'required':['Text'],'additionalProperties':false}".Replace('\'', '"'));
            Assert.That(Json.Write(schema), Is.EqualTo(Json.Write(expected)));
        }

        private sealed class OwnLimit
        {
            public int TimeoutSeconds { get; set; } = 7;
        }

        [Test]
        public void The_time_limit_that_every_tool_takes_stands_beside_the_schema_and_in_the_old_form()
        {
            Assert.That(SchemaGenerator.TimeoutSeconds(typeof(Parameters)), Is.EqualTo(30));
            Assert.That((int)SchemaGenerator.GenerateLegacy(typeof(Parameters))["Properties"]!["TimeoutSeconds"]!["DefaultValue"]!, Is.EqualTo(30));
            // A parameter of this name that is the tool's own is listed too.
            Assert.That(SchemaGenerator.TimeoutSeconds(typeof(OwnLimit)), Is.EqualTo(7));
            Assert.That((int)SchemaGenerator.Generate(typeof(OwnLimit))["properties"]!["TimeoutSeconds"]!["default"]!, Is.EqualTo(7));
            Assert.That(SchemaGenerator.TimeoutSeconds(typeof(Odd)), Is.Null);
            Assert.That(SchemaGenerator.TimeoutSeconds(null), Is.Null);
        }

        private sealed class Odd
        {
            public ArrayList Untyped { get; set; } = new();

            public IList Interface { get; set; } = new ArrayList();

            public Colour? Maybe { get; set; }

            public JObject Any { get; set; } = new();

            public Hashtable Table { get; set; } = new();

            public List<int?> Numbers { get; set; } = new();

            public Odd Again { get; set; } = null!;
        }

        [Test]
        public void No_schema_has_what_the_APIs_of_models_refuse()
        {
            JObject schema = SchemaGenerator.Generate(typeof(Odd));
            foreach (JObject one in schema.DescendantsAndSelf().OfType<JObject>())
            {
                if (one["type"] is not JValue kind) continue;
                Assert.That(kind.Type, Is.EqualTo(JTokenType.String), one.ToString());
                if ((string?)kind == "array") Assert.That(one["items"], Is.TypeOf<JObject>(), one.ToString());
                if ((string?)kind == "object") Assert.That(one["properties"], Is.TypeOf<JObject>(), one.ToString());
            }
            Assert.That(schema.DescendantsAndSelf().OfType<JArray>(), Has.None.Matches<JArray>(list => list.Any(x => x.Type == JTokenType.Null)));
            Assert.That(Json.Write(schema["properties"]!["Maybe"]), Is.EqualTo(@"{""type"":""string"",""enum"":[""Red"",""Green""]}"));
        }

        [Test]
        public void The_old_form_has_numbers_for_enum_defaults()
        {
            JObject schema = SchemaGenerator.GenerateLegacy(typeof(Parameters));
            Assert.That(Json.Write(schema["Properties"]!["Colour"]), Is.EqualTo(
                @"{""Type"":""string"",""Description"":""Parameter: Colour"",""DefaultValue"":1,""Enum"":[""Red"",""Green""]}"));
            Assert.That((string?)schema["Properties"]!["Layer"]!["Type"], Is.EqualTo("number"));
            Assert.That(Json.Write(schema["Required"]), Is.EqualTo(@"[""Text""]"));
        }

        [Test]
        public void No_parameters_is_an_empty_object()
        {
            Assert.That(Json.Write(SchemaGenerator.Generate(null)), Is.EqualTo(@"{""type"":""object"",""properties"":{},""additionalProperties"":false}"));
        }
    }
}
