#nullable enable
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of lists and of fields with [SerializeReference], in the simulated editor.</summary>
    public sealed class HostListTests : HostBench
    {
        private object Setting(string properties) => new { Action = "Set", Object = "World/Player", Component = "BoxCollider", Properties = JObject.Parse(properties) };

        private string Read(TestClient client, string property) => Json.Write(Value(client, "inspect", new { Object = "World/Player (BoxCollider)" })["Components"]![0]!["properties"]!
            .Single(p => (string)p["name"]! == property)["value"]!);

        [Test]
        public void Items_of_a_list_are_set_added_and_removed_in_one_step_of_undo()
        {
            using TestClient client = Greeted();
            Done(client, "edit-component", Setting("{\"items\": [1, 2, 3, 4]}"));
            Done(client, "edit-component", Setting("{\"items[1]\": 20, \"Items[3]\": 40}"));
            Assert.That(Read(client, "items"), Is.EqualTo("[1,20,3,40]"));
            Done(client, "edit-component", Setting("{\"items\": {\"$append\": [5, 6], \"$remove\": [0, 2]}}"));
            Assert.That(Read(client, "items"), Is.EqualTo("[20,40,5,6]"));
            Value(client, "undo", new { Action = "Undo" });
            Assert.That(Read(client, "items"), Is.EqualTo("[1,20,3,40]"));
            Done(client, "edit-component", Setting("{\"items[1]\": 20}"), true, "had items[1] like this already; nothing was changed");
            Value(client, "undo", new { Action = "Undo" });
            Assert.That(Read(client, "items"), Is.EqualTo("[1,2,3,4]"), "what changed nothing is no step");
        }

        [Test]
        public void A_list_of_structures_grows_by_what_is_given()
        {
            using TestClient client = Greeted();
            Done(client, "edit-component", Setting("{\"stops\": [{\"label\": \"A\", \"seconds\": 2}]}"));
            Done(client, "edit-component", Setting("{\"stops\": {\"$append\": {\"label\": \"B\"}}}"));
            Assert.That(Read(client, "stops"), Is.EqualTo("[{\"label\":\"A\",\"seconds\":2.0},{\"label\":\"B\",\"seconds\":2.0}]"), "the rest is as in the item before, as in Unity");
            Done(client, "edit-component", Setting("{\"stops[1].label\": \"C\", \"stops[0]\": {\"seconds\": 7}}"));
            Assert.That(Read(client, "stops"), Is.EqualTo("[{\"label\":\"A\",\"seconds\":7.0},{\"label\":\"C\",\"seconds\":2.0}]"));
        }

        [TestCase("{\"items[9]\": 1}", "items has 2 items, counted from 0; {\"$append\": [...]} adds some (items[9], Properties)")]
        [TestCase("{\"items[-1]\": 1}", "has no property items[-1]")]
        [TestCase("{\"items\": {\"$remove\": [2]}}", "items has 2 items to remove, counted from 0")]
        [TestCase("{\"items\": {\"$remove\": [\"a\"]}}", "items has 2 items to remove, counted from 0")]
        [TestCase("{\"effects\": {\"$remove\": 0}}", "effects has no item to remove")]
        [TestCase("{\"items\": {\"$add\": [2]}}", "items takes a list, or {\"$append\": [...], \"$remove\": [...]}")]
        [TestCase("{\"items\": {\"$append\": [\"a\"]}}", "items.Array.data[2] takes a whole number")]
        [TestCase("{\"stops[0].label\": \"A\"}", "stops has 0 items, counted from 0")]
        [TestCase("{\"nothing\": {\"strength\": 2}}", "nothing is null; $type says what it shall be: Holdfast.HostTools.Burn, Holdfast.HostTools.Freeze")]
        [TestCase("{\"nothing\": {\"$type\": \"Effect\"}}", "nothing takes no Effect, but Holdfast.HostTools.Burn, Holdfast.HostTools.Freeze")]
        [TestCase("{\"nothing\": {\"$type\": 5}}", "$type is the name of a class")]
        [TestCase("{\"nothing\": \"Burn\"}", "nothing takes null, or {\"$type\": \"...\"} with its parts")]
        [TestCase("{\"nothing\": {\"$type\": \"Burn\", \"heat\": 1}}", "nothing has no part heat, but ")]
        public void What_a_list_or_a_reference_does_not_take_is_refused(string properties, string says)
        {
            using TestClient client = Greeted();
            Done(client, "edit-component", Setting("{\"items\": [1, 2]}"));
            JObject both = JObject.Parse(properties);
            both.AddFirst(new JProperty("last", false));
            Assert.That(Refused(client, "edit-component", Setting(both.ToString())), Does.Contain(says));
            Assert.That((Read(client, "items"), Read(client, "nothing"), Read(client, "last")), Is.EqualTo(("[1,2]", "null", "true")), "nothing was changed");
        }

        [Test]
        public void A_managed_object_is_made_changed_replaced_and_what_is_read_is_written_back()
        {
            using TestClient client = Greeted();
            Done(client, "edit-component", Setting("{\"nothing\": {\"$type\": \"Burn\", \"strength\": 3}}"));
            string burn = Read(client, "nothing");
            Assert.That(JToken.DeepEquals(JObject.Parse(burn), JObject.Parse("{\"$type\": \"Holdfast.HostTools.Burn\", \"strength\": 3, \"seconds\": 2.5}")), burn);
            Done(client, "edit-component", Setting("{\"nothing\": {\"seconds\": 4}, \"nothing.strength\": 5}"));
            Done(client, "edit-component", Setting("{\"nothing\": {\"$type\": \"Holdfast.HostTools.Freeze\", \"note\": \"cold\"}}"));
            Assert.That(Read(client, "nothing"), Does.Contain("Freeze").And.Contain("cold").And.Not.Contain("seconds"), "without a constructor that needs nothing");
            Done(client, "edit-component", Setting("{\"nothing\": " + burn + "}"));
            Assert.That(Read(client, "nothing"), Is.EqualTo(burn));
            Done(client, "edit-component", Setting("{\"nothing\": null}"));
            Value(client, "undo", new { Action = "Undo" });
            Assert.That(Read(client, "nothing"), Is.EqualTo(burn));
        }

        [Test]
        public void New_items_are_objects_of_their_own()
        {
            using TestClient client = Greeted();
            Done(client, "edit-component", Setting("{\"effects\": [{\"$type\": \"Burn\", \"strength\": 1}]}"));
            Done(client, "edit-component", Setting("{\"effects\": {\"$append\": [{\"$type\": \"Burn\", \"strength\": 2}, null]}}"));
            Assert.That(JArray.Parse(Read(client, "effects")).Select(e => (int?)(e as JObject)?["strength"]), Is.EqualTo(new int?[] { 1, 2, null }));
            Done(client, "edit-component", Setting("{\"effects[2]\": {\"$type\": \"Burn\"}, \"effects[0].strength\": 9}"));
            Assert.That(JArray.Parse(Read(client, "effects")).Select(e => (int)e["strength"]!), Is.EqualTo(new[] { 9, 2, 1 }));
        }
    }
}
