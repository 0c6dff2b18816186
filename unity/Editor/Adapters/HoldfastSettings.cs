#nullable enable
using System;
using System.Collections.Generic;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>What this user has chosen for this project; not shared with others. Main thread.</summary>
    [FilePath("UserSettings/Holdfast.asset", FilePathAttribute.Location.ProjectFolder)]
    public sealed class HoldfastSettings : ScriptableSingleton<HoldfastSettings>
    {
        [SerializeField]
        private int port = 8711;

        [SerializeField]
        private bool allowUnprovenClients = true;

        [SerializeField]
        private List<string> switchesOn = new();

        [SerializeField]
        private List<string> allowedTools = new();

        [SerializeField]
        private List<string> deniedTools = new();

        private SecurityChoice? security;

        /// <summary>The port to listen on; another is taken if it is not free. Counts at the next start.</summary>
        public int Port
        {
            get => port;
            set => Change(() => port = value);
        }

        /// <summary>May clients that cannot prove themselves call tools, as stock uLoopMCP servers?</summary>
        public bool AllowUnprovenClients
        {
            get => allowUnprovenClients;
            set => Change(() => allowUnprovenClients = value);
        }

        /// <summary>The choices about security, for any thread.</summary>
        public ISecuritySettings Security => security ??= new SecurityChoice(Snapshot());

        /// <summary>Turns a switch on or off.</summary>
        public void SetSwitch(SecuritySettings setting, bool on) => Change(() => Put(switchesOn, setting.ToString(), on));

        /// <summary>Says what holds for one tool.</summary>
        public void SetPermission(string tool, ToolPermission permission) => Change(() =>
        {
            Put(allowedTools, tool, permission == ToolPermission.Allow);
            Put(deniedTools, tool, permission == ToolPermission.Deny);
        });

        private static void Put(List<string> list, string item, bool there)
        {
            list.Remove(item);
            if (there) list.Add(item);
        }

        private void Change(Action change)
        {
            change();
            Save(true);
            security?.Replace(Snapshot());
        }

        private SecurityChoice.Choice Snapshot() => new(allowUnprovenClients, switchesOn, allowedTools, deniedTools);

        /// <summary>A copy that is replaced as a whole, so that other threads may read it.</summary>
        private sealed class SecurityChoice : ISecuritySettings
        {
            private volatile Choice choice;

            public SecurityChoice(Choice choice) => this.choice = choice;

            public bool AllowUnprovenClients => choice.AllowUnproven;

            public void Replace(Choice next) => choice = next;

            public bool IsOn(SecuritySettings setting) => choice.On.Contains(setting.ToString());

            public ToolPermission PermissionOf(string toolName) =>
                choice.Denied.Contains(toolName) ? ToolPermission.Deny
                : choice.Allowed.Contains(toolName) ? ToolPermission.Allow
                : ToolPermission.Default;

            public sealed class Choice
            {
                public Choice(bool allowUnproven, List<string> on, List<string> allowed, List<string> denied)
                {
                    AllowUnproven = allowUnproven;
                    On = new HashSet<string>(on);
                    Allowed = new HashSet<string>(allowed);
                    Denied = new HashSet<string>(denied);
                }

                public bool AllowUnproven { get; }

                public HashSet<string> On { get; }

                public HashSet<string> Allowed { get; }

                public HashSet<string> Denied { get; }
            }
        }
    }
}
