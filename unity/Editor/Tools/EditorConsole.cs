#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// Reads the console through LogEntries. This class is internal, but the same in every version that was checked. Its members
    /// are found by reflection when this object is created. If one is missing, new messages are collected instead.
    /// </summary>
    internal sealed class EditorConsole : IConsole
    {
        private readonly LogEntriesAccess? entries = LogEntriesAccess.Bind();

        public EditorConsole()
        {
            if (entries != null) return;
            Debug.LogWarning("[Holdfast] This editor's console cannot be read; get-logs has messages since the last reload alone");
            FallbackLog.Begin();
        }

        public IEnumerable<ConsoleEntry> NewestFirst() => entries?.NewestFirst() ?? FallbackLog.Entries.Reverse();

        public ConsoleCounts Count()
        {
            if (entries != null) return entries.Count();
            int logs = 0, warnings = 0, errors = 0;
            foreach (ConsoleEntry entry in FallbackLog.Entries)
            {
                if (entry.Type == ConsoleEntryType.Error) errors++;
                else if (entry.Type == ConsoleEntryType.Warning) warnings++;
                else logs++;
            }
            return new ConsoleCounts(logs, warnings, errors);
        }

        public void Clear()
        {
            if (entries != null) entries.Clear();
            else FallbackLog.Clear();
        }

        public void Write(ConsoleEntryType type, string message)
        {
            if (type == ConsoleEntryType.Error) Debug.LogError(message);
            else if (type == ConsoleEntryType.Warning) Debug.LogWarning(message);
            else Debug.Log(message);
        }
    }

    /// <summary>Accesses UnityEditor.LogEntries by reflection.</summary>
    internal sealed class LogEntriesAccess
    {
        // Bits of ConsoleWindow.ConsoleFlags: Collapse, and the three buttons that each hide a kind of entry.
        private const int Collapse = 1 << 0;
        private static readonly int[] Kinds = { 1 << 7, 1 << 8, 1 << 9 };

        private delegate void CountByType(ref int errors, ref int warnings, ref int logs);

        private readonly Func<int> start;
        private readonly Action end;
        private readonly Action clear;
        private readonly CountByType count;
        private readonly Func<int> getFlags;
        private readonly Action<int, bool> setFlag;
        private readonly Func<string> getFilter;
        private readonly Action<string> setFilter;
        private readonly MethodInfo getEntry;
        private readonly Type entryType;
        private readonly FieldInfo message, mode, file, line, stackStart;

        private LogEntriesAccess(Type entries, Type entry)
        {
            entryType = entry;
            start = Method<Func<int>>(entries, "StartGettingEntries");
            end = Method<Action>(entries, "EndGettingEntries");
            clear = Method<Action>(entries, "Clear");
            count = Method<CountByType>(entries, "GetCountsByType");
            getFlags = (Func<int>)Delegate.CreateDelegate(typeof(Func<int>), entries.GetProperty("consoleFlags", Any)!.GetGetMethod(true)!);
            setFlag = Method<Action<int, bool>>(entries, "SetConsoleFlag");
            getFilter = Method<Func<string>>(entries, "GetFilteringText");
            setFilter = Method<Action<string>>(entries, "SetFilteringText");
            getEntry = entries.GetMethod("GetEntryInternal", Any, null, new[] { typeof(int), entry }, null) ??
                throw new MissingMethodException("GetEntryInternal");
            message = Field(entry, "message", typeof(string));
            mode = Field(entry, "mode", typeof(int));
            file = Field(entry, "file", typeof(string));
            line = Field(entry, "line", typeof(int));
            stackStart = Field(entry, "callstackTextStartUTF16", typeof(int));
        }

        private static BindingFlags Any =>
            BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

        /// <summary>Finds the members by reflection. Returns null and logs a warning if one is missing in this editor.</summary>
        public static LogEntriesAccess? Bind()
        {
            try
            {
                Assembly editor = typeof(EditorApplication).Assembly;
                return new LogEntriesAccess(
                    editor.GetType("UnityEditor.LogEntries", true)!, editor.GetType("UnityEditor.LogEntry", true)!);
            }
            catch (Exception e) when (
                e is TypeLoadException or MissingMemberException or AmbiguousMatchException or ArgumentException or NullReferenceException)
            {
                // Once a session, since the scripts are loaded again and again.
                const string Key = "Holdfast.NoConsole";
                if (!SessionState.GetBool(Key, false)) Debug.LogWarning("[Holdfast] " + e.Message);
                SessionState.SetBool(Key, true);
                return null;
            }
        }

        /// <summary>
        /// Reads the entries. The user's filter in the console window is removed for the reading and then restored.
        /// </summary>
        public IEnumerable<ConsoleEntry> NewestFirst()
        {
            int flags = getFlags();
            string filter = getFilter();
            try
            {
                // Every change of these makes Unity filter all entries again.
                foreach (int kind in Kinds.Where(k => (flags & k) == 0)) setFlag(kind, true);
                if ((flags & Collapse) != 0) setFlag(Collapse, false);
                if (filter.Length > 0) setFilter("");
                int rows = start();
                try
                {
                    object entry = Activator.CreateInstance(entryType)!;
                    var arguments = new object[2];
                    for (int row = rows - 1; row >= 0; row--)
                    {
                        arguments[0] = row;
                        arguments[1] = entry;
                        if (!(bool)getEntry.Invoke(null, arguments)!) continue;
                        yield return ConsoleText.Entry((int)mode.GetValue(entry)!, (string?)message.GetValue(entry),
                            (int)stackStart.GetValue(entry)!, (string?)file.GetValue(entry), (int)line.GetValue(entry)!);
                    }
                }
                finally
                {
                    end();
                }
            }
            finally
            {
                foreach (int kind in Kinds.Where(k => (flags & k) == 0)) setFlag(kind, false);
                if ((flags & Collapse) != 0) setFlag(Collapse, true);
                if (filter.Length > 0) setFilter(filter);
            }
        }

        public ConsoleCounts Count()
        {
            int errors = 0, warnings = 0, logs = 0;
            count(ref errors, ref warnings, ref logs);
            return new ConsoleCounts(logs, warnings, errors);
        }

        public void Clear() => clear();

        private static T Method<T>(Type type, string name) where T : Delegate
        {
            // By the whole signature: a later Unity version may add an overload.
            Type[] parameters = typeof(T).GetMethod("Invoke")!.GetParameters().Select(p => p.ParameterType).ToArray();
            MethodInfo method = type.GetMethod(name, Any, null, parameters, null) ?? throw new MissingMethodException(type.FullName, name);
            return (T)Delegate.CreateDelegate(typeof(T), method);
        }

        private static FieldInfo Field(Type type, string name, Type of)
        {
            FieldInfo field = type.GetField(name, Any) ?? throw new MissingFieldException(type.FullName, name);
            return field.FieldType == of ? field : throw new MissingFieldException(type.FullName, name + " of " + of.Name);
        }
    }

    /// <summary>Collects messages for editors whose console cannot be read. Subscribes to them once per domain.</summary>
    internal static class FallbackLog
    {
        private static readonly ConsoleRing Ring = new();
        private static bool begun;

        public static IReadOnlyList<ConsoleEntry> Entries => Ring.Entries;

        public static void Begin()
        {
            if (begun) return;
            begun = true;
            Application.logMessageReceivedThreaded += Received;
            AssemblyReloadEvents.beforeAssemblyReload += End;
            CodeUnload.Unloading += End;
        }

        public static void Clear() => Ring.Clear();

        private static void Received(string message, string stackTrace, LogType type)
        {
            ConsoleEntryType kind = type == LogType.Log ? ConsoleEntryType.Log
                : type == LogType.Warning ? ConsoleEntryType.Warning : ConsoleEntryType.Error;
            Ring.Add(new ConsoleEntry(kind, message, stackTrace, "", 0));
        }

        private static void End()
        {
            if (!begun) return;
            begun = false;
            Application.logMessageReceivedThreaded -= Received;
            AssemblyReloadEvents.beforeAssemblyReload -= End;
            CodeUnload.Unloading -= End;
        }
    }
}
