#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>A tool, as it is shown.</summary>
    /// <param name="Name">Its name.</param>
    /// <param name="Description">What it does.</param>
    /// <param name="Permission">What the user said about it.</param>
    /// <param name="Refused">Why it may not run now; null if it may.</param>
    public sealed record ToolRow(string Name, string Description, ToolPermission Permission, string? Refused);

    /// <summary>The tools.</summary>
    /// <param name="Search">What is looked for.</param>
    /// <param name="Rows">The tools that fit.</param>
    /// <param name="Total">How many there are.</param>
    /// <param name="Nothing">What to say if none fits.</param>
    public sealed record ToolListState(string Search, Rows<ToolRow> Rows, int Total, string Nothing);

    /// <summary>What may run, tool by tool.</summary>
    public sealed class ToolListPresenter : Section<ToolListState>
    {
        private readonly IBridgeHost host;
        private readonly IProjectChoices choices;
        private readonly IReadOnlyList<Switch> switches;
        private string search = "";

        /// <summary>One over this host and these choices.</summary>
        public ToolListPresenter(IBridgeHost host, IProjectChoices choices, IView<ToolListState> view) : base(view)
        {
            this.host = host;
            this.choices = choices;
            switches = Switch.Security(choices);
        }

        /// <summary>Shows only tools with this in their name or description.</summary>
        public void Search(string text)
        {
            search = text.Trim();
            Refresh();
        }

        /// <summary>Says what holds for one tool.</summary>
        public void Set(string tool, ToolPermission permission)
        {
            choices.SetPermission(tool, permission);
            Refresh();
        }

        /// <inheritdoc/>
        protected override ToolListState Look()
        {
            List<ToolRow> all = All();
            IEnumerable<ToolRow> fitting = all.Where(t => Has(t.Name) || Has(t.Description));
            string nothing = all.Count > 0 ? "No tool fits." : "The tools are known while the server runs.";
            return new ToolListState(search, new Rows<ToolRow>(fitting), all.Count, nothing);
        }

        private string? Refusal(SecurityDenial? denial)
        {
            if (denial == null) return null;
            string setting = denial.Setting.ToString();
            Switch? off = switches.FirstOrDefault(s => s.Id == setting);
            return off == null ? denial.Reason : $"Refused while \"{off.Title}\" is off.";
        }

        private bool Has(string text) => text.IndexOf(search, StringComparison.OrdinalIgnoreCase) >= 0;

        // Those that clients see, and those about which the user has said something: he must be able to take it back.
        private List<ToolRow> All()
        {
            ISecuritySettings security = choices.Security;
            var rows = new List<ToolRow>();
            IBridgeInfo? bridge = host.Running;
            var named = new HashSet<string>(choices.NamedTools);
            foreach (ToolEntry tool in bridge?.Tools.All ?? Array.Empty<ToolEntry>())
            {
                if (tool.About.DisplayDevelopmentOnly && !named.Contains(tool.Name)) continue;
                named.Remove(tool.Name);
                string? refusal = Refusal(bridge!.Security.Check(tool));
                rows.Add(new ToolRow(tool.Name, tool.About.Description, security.PermissionOf(tool.Name), refusal));
            }
            string absent = bridge == null ? "" : "There is no such tool in this project now.";
            rows.AddRange(named.Select(name => new ToolRow(name, absent, security.PermissionOf(name), null)));
            return rows.OrderBy(r => r.Name, StringComparer.Ordinal).ToList();
        }
    }
}
