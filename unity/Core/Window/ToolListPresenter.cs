#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>A tool as the window shows it.</summary>
    /// <param name="Name">Name of the tool.</param>
    /// <param name="Description">What the tool does.</param>
    /// <param name="Permission">The user's permission for the tool.</param>
    /// <param name="Refused">Why the tool may not run now; null if it may.</param>
    internal sealed record ToolRow(string Name, string Description, ToolPermission Permission, string? Refused);

    /// <summary>State of the tool list.</summary>
    /// <param name="Search">The text that the user searches for.</param>
    /// <param name="Rows">The tools that match.</param>
    /// <param name="Total">Number of all tools.</param>
    /// <param name="Nothing">The text to show if no tool matches.</param>
    internal sealed record ToolListState(string Search, Rows<ToolRow> Rows, int Total, string Nothing);

    /// <summary>Shows the tools and the user's permission for each.</summary>
    internal sealed class ToolListPresenter : Section<ToolListState>
    {
        private readonly IBridgeHost host;
        private readonly IProjectChoices choices;
        private readonly IReadOnlyList<Switch> switches;
        private string search = "";

        /// <summary>Creates the presenter for this host and these settings.</summary>
        public ToolListPresenter(IBridgeHost host, IProjectChoices choices, IView<ToolListState> view) : base(view)
        {
            this.host = host;
            this.choices = choices;
            switches = Switch.Security(choices);
        }

        /// <summary>Shows only tools whose name or description contains this text.</summary>
        public void Search(string text)
        {
            search = text.Trim();
            Refresh();
        }

        /// <summary>Sets the permission of one tool.</summary>
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

        // Lists all tools except those for development, and all names for which the user has set a permission, even of tools that
        // do not exist any more, so that the permission can be removed.
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
