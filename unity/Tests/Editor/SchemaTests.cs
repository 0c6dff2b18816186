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
                'Parts':{'type':'array','items':{'type':'object','properties':{'Amount':{'type':'number','description':'How much'}}},'default':[]},
                'TimeoutSeconds':{'type':'integer','description':'Seconds after which the tool is cancelled; 0: never','default':30}},
                'required':['Text']}".Replace('\'', '"'));
            Assert.That(Json.Write(schema), Is.EqualTo(Json.Write(expected)));
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
            Assert.That(Json.Write(SchemaGenerator.Generate(null)), Is.EqualTo(@"{""type"":""object"",""properties"":{}}"));
        }

        [Test]
        public void Parameters_are_read_by_name_whatever_their_case()
        {
            Parameters read = Read(@"{""text"":""hi"",""Colour"":""red"",""layer"":3,""names"":[],""extra"":1}");
            Assert.That(read.Text, Is.EqualTo("hi"));
            Assert.That(read.Colour, Is.EqualTo(Colour.Red));
            Assert.That(read.Layer, Is.EqualTo(3));
            Assert.That(read.Names, Is.Empty);
            Assert.That(read.TimeoutSeconds, Is.EqualTo(30));
        }

        [Test]
        public void An_enum_may_come_as_its_number() => Assert.That(Read(@"{""Text"":"""",""Colour"":0}").Colour, Is.EqualTo(Colour.Red));

        [Test]
        public void A_null_in_the_place_of_a_text_or_a_list_counts_as_missing()
        {
            Parameters read = Read(@"{""Text"":""hi"",""Names"":null,""Layer"":null}");
            Assert.That(read.Names, Is.EqualTo(new Parameters().Names).And.Not.Null);
            Assert.That(read.Layer, Is.Null);
        }

        [TestCase("[]", "the parameters are no object")]
        [TestCase(@"{""Text"":null}", "Text is required")]
        [TestCase(@"{""Text"":"""",""Colour"":7}", "Colour must be one of Red, Green, not 7")]
        [TestCase(@"{""Text"":"""",""Colour"":""Red, Green""}", @"Colour must be one of Red, Green, not ""Red, Green""")]
        [TestCase("{}", "Text is required")]
        [TestCase(@"{""Text"":5}", "Text must be a text, not 5")]
        [TestCase(@"{""Text"":"""",""Layer"":""x""}", @"Layer must be a whole number, not ""x""")]
        [TestCase(@"{""Text"":"""",""Layer"":1.5}", "Layer must be a whole number, not 1.5")]
        [TestCase(@"{""Text"":"""",""Layer"":99999999999}", "Layer must be a whole number, not 99999999999")]
        [TestCase(@"{""Text"":"""",""Colour"":""blue""}", @"Colour must be one of Red, Green, not ""blue""")]
        [TestCase(@"{""Text"":"""",""Names"":7}", "Names must be a list, not 7")]
        public void A_wrong_parameter_is_named(string given, string what)
        {
            var e = Assert.Throws<ToolParameterException>(() => Read(given));
            Assert.That(e!.Message, Is.EqualTo("Parameter type mismatch for tool 'x': " + what));
        }

        private static Parameters Read(string json) => ToolParameters.Read<Parameters>("x", Json.Parse(json));
    }
}
