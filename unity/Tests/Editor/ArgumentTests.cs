#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the way in which the arguments of a call become a tool's parameters.</summary>
    public sealed class ArgumentTests
    {
        private enum Colour
        {
            Red,
            Green
        }

        private sealed class Point
        {
            public float X = 0;

            public float Y = 0;
        }

        private sealed class Step
        {
            public string Tool { get; set; } = "";

            public JObject Arguments { get; set; } = new();

            public Point? Place { get; set; }
        }

        private sealed class Open
        {
            [JsonExtensionData]
            public Dictionary<string, JToken> Rest { get; set; } = new();
        }

        private sealed class Parameters : BaseToolSchema
        {
            [McpRequired]
            public string Text { get; set; } = "";

            public Colour Colour { get; set; } = Colour.Green;

            public int? Layer { get; set; }

            public string[] Names { get; set; } = { "a" };

            public List<Step> Steps { get; set; } = new();

            public Dictionary<string, Step> ByName { get; set; } = new();

            public Open? Open { get; set; }

            public object? Anything { get; set; }

            [Browsable(false)]
            public string Hidden { get; set; } = "";
        }

        private sealed class Needy
        {
            [McpRequired]
            public Colour Colour { get; set; }

            [McpRequired]
            public string Path { get; set; } = "";
        }

        private sealed class Empty
        {
        }

        [Test]
        public void Parameters_are_read_by_name_whatever_their_case()
        {
            Parameters read = Read(@"{""text"":""hi"",""Colour"":""red"",""layer"":3,""names"":[]}");
            Assert.That(read.Text, Is.EqualTo("hi"));
            Assert.That(read.Colour, Is.EqualTo(Colour.Red));
            Assert.That(read.Layer, Is.EqualTo(3));
            Assert.That(read.Names, Is.Empty);
            Assert.That(read.TimeoutSeconds, Is.EqualTo(15));
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

        [TestCase("[]", "The arguments of paint must be an object, not []")]
        [TestCase(@"{""Text"":null}", "paint needs Text")]
        [TestCase("{}", "paint needs Text")]
        [TestCase(@"{""Text"":"""",""Colour"":7}", "Colour of paint must be one of Red, Green, not 7")]
        [TestCase(@"{""Text"":"""",""Colour"":""Red, Green""}", @"Colour of paint must be one of Red, Green, not ""Red, Green""")]
        [TestCase(@"{""Text"":"""",""Colour"":""blue""}", @"Colour of paint must be one of Red, Green, not ""blue""")]
        [TestCase(@"{""Text"":5}", "Text of paint must be a text, not 5")]
        [TestCase(@"{""Text"":"""",""Layer"":""x""}", @"Layer of paint must be a whole number, not ""x""")]
        [TestCase(@"{""Text"":"""",""Layer"":1.5}", "Layer of paint must be a whole number, not 1.5")]
        [TestCase(@"{""Text"":"""",""Layer"":99999999999}", "Layer of paint must be a whole number from -2147483648 to 2147483647, not 99999999999")]
        [TestCase(@"{""Text"":"""",""Names"":7}", "Names of paint must be a list, not 7")]
        [TestCase(@"{""Text"":"""",""Names"":[""a"",7]}", "Names[1] of paint must be a text, not 7")]
        public void A_wrong_argument_is_named_in_one_sentence(string given, string says) => Assert.That(Refusal<Parameters>(given), Is.EqualTo(says));

        [Test]
        public void All_that_is_missing_is_named_at_once() => Assert.That(Refusal<Needy>("{}"), Is.EqualTo("paint needs Colour: Red or Green and Path"));

        [TestCase("Txet", "paint has no argument Txet; did you mean Text?")]
        [TestCase("colour_", "paint has no argument colour_; did you mean Colour?")]
        [TestCase("by-name", "paint has no argument by-name; did you mean ByName?")]
        [TestCase("MyLayer", "paint has no argument MyLayer; did you mean Layer?")]
        [TestCase("Size", "paint has no argument Size; it has Text, Colour, Layer, Names, Steps, ByName, Open, Anything")]
        [TestCase("Hidden", "paint has no argument Hidden; it has Text, Colour, Layer, Names, Steps, ByName, Open, Anything")]
        [TestCase("x", "paint has no argument x; it has Text, Colour, Layer, Names, Steps, ByName, Open, Anything")]
        [TestCase("", "paint has no argument ; it has Text, Colour, Layer, Names, Steps, ByName, Open, Anything")]
        public void An_unknown_argument_is_refused_with_the_name_that_was_meant(string name, string says) =>
            Assert.That(Refusal<Parameters>(new JObject { ["Text"] = "a", [name] = 1 }.ToString()), Is.EqualTo(says));

        [Test]
        public void Several_unknown_ones_and_long_ones_make_one_sentence()
        {
            Assert.That(Refusal<Parameters>(@"{""Txt"":1,""Collour"":2}"), Is.EqualTo("paint has no argument Txt and Collour; did you mean Text and Colour?"));
            Assert.That(Refusal<Empty>(@"{""Txt"":1}"), Is.EqualTo("paint has no argument Txt; it takes none"));
            var many = new JObject(Enumerable.Range(0, 2000).Select(i => new JProperty(new string('q', 2000) + i, i)));
            Assert.That(Refusal<Parameters>(many.ToString()), Has.Length.LessThan(500));
        }

        [TestCase(@"{""Text"":"""",""Steps"":[{""Tool"":""a""},{""Tol"":""a""}]}", "paint has no argument Steps[1].Tol; did you mean Tool?")]
        [TestCase(@"{""Text"":"""",""ByName"":{""one"":{""Place"":{""Z"":1}}}}", "paint has no argument ByName.one.Place.Z; it has X, Y")]
        public void So_is_an_unknown_member_of_what_is_declared(string given, string says) => Assert.That(Refusal<Parameters>(given), Is.EqualTo(says));

        [Test]
        public void What_has_members_of_any_name_takes_them()
        {
            Parameters read = Read(@"{""Text"":"""",""Steps"":[{""arguments"":{""any"":1},""place"":{""x"":2}}],""Open"":{""any"":1},""Anything"":{""any"":1},
                ""ByName"":{""any"":{}}}");
            Assert.That((int)read.Steps[0].Arguments["any"]!, Is.EqualTo(1));
            Assert.That(read.Steps[0].Place!.X, Is.EqualTo(2));
            Assert.That((int)read.Open!.Rest["any"], Is.EqualTo(1));
            Assert.That(ToolParameters.Read<Dictionary<string, int>>("paint", Json.Parse(@"{""any"":1}"))["any"], Is.EqualTo(1));
            Assert.That((int)ToolParameters.Read<JObject>("paint", Json.Parse(@"{""any"":1}"))["any"]!, Is.EqualTo(1));
            Assert.That(ToolParameters.Read<JObject>("paint", null), Is.Empty);
        }

        [TestCase(typeof(Needy), "false")]
        [TestCase(typeof(Dictionary<string, int>), @"{""type"":""integer""}")]
        [TestCase(typeof(JObject), "{}")]
        [TestCase(null, "false")]
        public void The_schema_says_which_names_there_may_be(Type? type, string says) =>
            Assert.That(Json.Write(SchemaGenerator.Generate(type)["additionalProperties"]), Is.EqualTo(says));

        [Test]
        public void A_nested_schema_forbids_only_what_would_be_refused()
        {
            JObject step = (JObject)SchemaGenerator.Generate(typeof(Parameters))["properties"]!["Steps"]!["items"]!;
            Assert.That((bool)step["additionalProperties"]!, Is.False);
            // Newtonsoft sets fields too, which no schema lists.
            Assert.That(step["properties"]!["Place"]!["additionalProperties"], Is.Null);
            Assert.That(step["properties"]!["Arguments"]!["additionalProperties"], Is.EqualTo(new JObject()));
        }

        [Test]
        public void Every_schema_of_the_package_is_closed()
        {
            foreach (Type type in typeof(ToolRegistry).Assembly.GetTypes().Where(t => t.IsDefined(typeof(McpToolAttribute), false)))
            {
                var tool = (IUnityTool)Activator.CreateInstance(type)!;
                Assert.That((bool?)SchemaGenerator.Generate(tool.ParametersType)["additionalProperties"], Is.False, tool.ToolName);
            }
        }

        [TestCase("compile", "RequestId", true)]
        [TestCase("compile", "waitForDomainReload", true)]
        [TestCase("paint", "RequestId", false)]
        [TestCase("paint", "TimeoutSeconds", true)]
        [TestCase("paint", "toolCallId", true)]
        [TestCase("paint", "random_string", true)]
        [TestCase("paint", "holdfast_editor", false)]
        public void What_programs_add_by_themselves_is_left_out(string tool, string name, bool leftOut)
        {
            TestDelegate read = () => ToolParameters.Read<Empty>(tool, new JObject { [name] = "x" });
            if (leftOut) Assert.DoesNotThrow(read);
            else Assert.Throws<ToolParameterException>(read);
        }

        private sealed class Many
        {
            public Colour[] Colours { get; set; } = Array.Empty<Colour>();
        }

        [TestCase(@"{""Colours"":[""Red"",""Blue""]}", "Colours[1] of paint must be one of Red, Green, not \"Blue\"")]
        [TestCase(@"{""colours"":[true]}", "Colours[0] of paint must be one of Red, Green, not true")]
        public void A_word_in_a_list_that_is_none_of_the_names_is_told_with_them(string json, string says)
        {
            Assert.That(Refusal<Many>(json), Is.EqualTo(says));
        }

        [Test]
        public void Every_argument_that_is_left_out_has_its_source()
        {
            Assert.That(UnknownArguments.Added.Select(a => (a.Name, a.Tool)), Is.Unique);
            Assert.That(UnknownArguments.Added.Select(a => a.Source), Has.All.Match("uLoopMCP|github\\.com/"));
        }

        [Test]
        public void An_argument_of_another_package_is_told_by_its_name_here()
        {
            var e = Assert.Throws<ToolParameterException>(() => ToolParameters.Read<RunTestsSchema>("run-tests", Json.Parse(@"{""SaveBeforeRun"":true}")));
            Assert.That(e!.Message, Is.EqualTo("run-tests has no argument SaveBeforeRun; did you mean SaveScenes?"));
        }

        private static Parameters Read(string json) => ToolParameters.Read<Parameters>("paint", Json.Parse(json));

        private static string Refusal<T>(string json) where T : class, new() =>
            Assert.Throws<ToolParameterException>(() => ToolParameters.Read<T>("paint", Json.Parse(json)))!.Message;
    }
}
