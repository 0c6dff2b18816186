#nullable enable
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Brings input to the user interface: an EventSystem with the module for the input system that the project has on.</summary>
    internal sealed class UiEvents
    {
        private const string Settings = "ProjectSettings/ProjectSettings.asset", Handler = "activeInputHandler";

        private readonly IToolContext context;
        private readonly bool isNew;

        public UiEvents(IToolContext context)
        {
            this.context = context;
            // 0 is the old input, 1 the new one, 2 both. With both, the new one's module is what Unity's own menu takes.
            int handler = context.Get<IObjects>().Find(Settings)?.View.Properties(true).FirstOrDefault(p => p.Name == Handler)?.Value is { } value &&
                JToken.FromObject(value) is { Type: JTokenType.Integer } number ? (int)number : -1;
            bool hasNew = context.Get<IObjectEditor>().ComponentTypes(UiRecipe.NewInput).Count > 0;
            isNew = hasNew && handler != 0;
            Lack = handler == 1 && !hasNew
                ? ". Only the new input system is on in this project, and the package com.unity.inputsystem is missing, so no input comes through: add it with change-packages"
                : "";
        }

        /// <summary>The module that fits.</summary>
        public string Module => isNew ? UiRecipe.NewInput : UiRecipe.OldInput;

        /// <summary>What is missing in the project, as the rest of a message.</summary>
        public string Lack { get; }

        /// <summary>The first one that is active; null if there is none.</summary>
        public ISceneNode? Present() => SceneWalk.All(context.Get<IScenes>().Open(), false).Take(Limits.SceneNodes).Select(s => s.Node)
            .FirstOrDefault(n => n.Components.Any(c => !c.IsMissing && c.IsA("EventSystem")));

        /// <summary>Whether one has the module that fits, or one of the project's own.</summary>
        public bool Fits(ISceneNode one) => one.Components.Any(c => !c.IsMissing && c.IsA("BaseInputModule") && !c.IsA(Other)) && !one.Components.Any(IsOther);

        /// <summary>Creates one.</summary>
        public FoundObject Create(Workplace place, string name, FoundObject? parent)
        {
            FoundObject made = place.Editor.Create(name, "", parent);
            UiParts.Add(place, made, UiRecipe.Events);
            UiParts.Add(place, made, Module);
            return made;
        }

        /// <summary>Gives one the module that fits, in the place of the other one.</summary>
        public void Mend(Workplace place, FoundObject one)
        {
            foreach (ISceneComponent other in one.Node!.Components.Where(IsOther).ToList())
            {
                if (!place.Editor.RemoveComponent(one, other)) throw new ChangeRefusedException($"Unity does not remove {other.TypeName}; another component may need it");
            }
            if (!one.Node!.Components.Any(c => !c.IsMissing && c.IsA(Module))) UiParts.Add(place, one, Module);
        }

        private bool IsOther(ISceneComponent one) => !one.IsMissing && one.IsA(Other);

        private string Other => isNew ? UiRecipe.OldInput : UiRecipe.NewInput;
    }
}
