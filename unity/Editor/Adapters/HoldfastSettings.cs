#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// The user's settings for this project. They are not shared through version control: a commit by somebody else must not
    /// decide what a program may do on this machine. Main thread.
    /// </summary>
    [FilePath("UserSettings/Holdfast.asset", FilePathAttribute.Location.ProjectFolder)]
    internal sealed class HoldfastSettings : ScriptableSingleton<HoldfastSettings>, IProjectChoices
    {
        [SerializeField]
        private int port = 8711;

        [SerializeField]
        private bool runInBatchMode;

        [SerializeField]
        private bool allowUnprovenClients;

        [SerializeField]
        private List<string> switchesOn = new();

        [SerializeField]
        private List<string> allowedTools = new();

        [SerializeField]
        private List<string> deniedTools = new();

        [SerializeField]
        private List<string> groupsOff = new();

        private SecurityChoice? security;

        /// <inheritdoc/>
        public int Port
        {
            get => port;
            set => Change(() => port = value);
        }

        /// <inheritdoc/>
        public bool RunInBatchMode
        {
            get => runInBatchMode;
            set => Change(() => runInBatchMode = value);
        }

        /// <inheritdoc/>
        public bool AllowUnprovenClients
        {
            get => allowUnprovenClients;
            set => Change(() => allowUnprovenClients = value);
        }

        /// <inheritdoc/>
        public ISecuritySettings Security => security ??= new SecurityChoice(Snapshot());

        /// <inheritdoc/>
        public IReadOnlyList<string> NamedTools => allowedTools.Concat(deniedTools).ToList();

        /// <inheritdoc/>
        public void SetSwitch(SecuritySettings setting, bool on) => Change(() => Put(switchesOn, setting.ToString(), on));

        /// <inheritdoc/>
        public void SetGroup(ToolGroup group, bool on)
        {
            Change(() => Put(groupsOff, group.ToString(), !on));
            security?.Raise(group);
        }

        /// <inheritdoc/>
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

        private SecurityChoice.Choice Snapshot() => new(allowUnprovenClients, switchesOn, allowedTools, deniedTools, groupsOff);

        /// <summary>An immutable copy of the settings. It is replaced as a whole, so that other threads may read it.</summary>
        private sealed class SecurityChoice : ISecuritySettings
        {
            private volatile Choice choice;

            public SecurityChoice(Choice choice) => this.choice = choice;

            public bool AllowUnprovenClients => choice.AllowUnproven;

            public void Replace(Choice next) => choice = next;

            public event Action<ToolGroup>? GroupSwitched;

            public void Raise(ToolGroup group) => GroupSwitched?.Invoke(group);

            public bool IsOff(ToolGroup group) => choice.GroupsOff.Contains(group.ToString());

            public bool IsOn(SecuritySettings setting) => choice.On.Contains(setting.ToString());

            public ToolPermission PermissionOf(string toolName) =>
                choice.Denied.Contains(toolName) ? ToolPermission.Deny
                : choice.Allowed.Contains(toolName) ? ToolPermission.Allow
                : ToolPermission.Default;

            public sealed class Choice
            {
                public Choice(bool allowUnproven, List<string> on, List<string> allowed, List<string> denied, List<string> groupsOff)
                {
                    AllowUnproven = allowUnproven;
                    On = new HashSet<string>(on);
                    Allowed = new HashSet<string>(allowed);
                    Denied = new HashSet<string>(denied);
                    GroupsOff = new HashSet<string>(groupsOff);
                }

                public bool AllowUnproven { get; }

                public HashSet<string> On { get; }

                public HashSet<string> Allowed { get; }

                public HashSet<string> Denied { get; }

                public HashSet<string> GroupsOff { get; }
            }
        }
    }
}
