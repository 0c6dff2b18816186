using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;

namespace EditorHost
{
    /// <summary>The domain that holds the package; implemented for Mono and for .NET.</summary>
    public interface IDomain
    {
        void Load();

        void Tick();

        void Unload();

        void Quit();

        bool Invoke(string type, string method, string argument);

        /// <summary>
        /// Operates the windows as a person would. Returns what is visible afterwards; after a failure, "!" and the reason.
        /// </summary>
        string Window(string order);

        /// <summary>Number of former domains that are still in memory.</summary>
        int Leaked();
    }

    /// <summary>
    /// A simulated Unity Editor. It runs the real package over stubs of Unity's API, and reloads its domain. Lines on stdin
    /// control it. It prints events as JSON lines, with the names that <c>holdfast fake-unity</c> uses for the same events.
    /// </summary>
    public sealed class SimulatedEditor
    {
        /// <summary>How often the host looks for the bridge, in milliseconds.</summary>
        private const int LookMs = 20;

        private static readonly string[] Usage =
        {
            "reload MS", "move MS", "compile MS", "down", "up", "forward PORT", "freeze [MS]", "thaw", "changed", "addtool NAME", "compile-error on|off",
            "lock-reload on|off", "modal on|off", "edit", "play on|off", "focus on|off", "import MS", "release", "window ORDER", "stats", "crash", "quit", "help"
        };

        private readonly ConcurrentQueue<string> lines = new();
        private readonly Options options;
        private readonly NativeSide native;
        private readonly IDomain domain;
        private readonly TextWriter output;
        private int generation;
        private int port;
        private bool announced;
        private bool reloading;
        private long blockedUntil;
        private readonly Sources sources;
        private bool modal;
        private bool frozen;
        private long compiledAt = long.MaxValue;
        private bool reloadDue;
        private bool ended;
        private bool due;
        private int ownFrames;

        public SimulatedEditor(string[] args, Func<Options, NativeSide, IDomain> make)
        {
            options = new Options(args);
            output = TextWriter.Synchronized(
                new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true, NewLine = "\n" });
            native = new NativeSide(Tell, options.Verbose);
            string project = Path.GetFullPath(options.Project);
            Directory.CreateDirectory(Path.Combine(project, "Assets"));
            native.Set("dataPath", project + "/Assets");
            sources = new Sources(Path.Combine(project, "Assets"));
            native.Set("unityVersion", options.UnityVersion);
            native.Set("packageVersion", "0.1.0");
            native.Set("project", project);
            native.Set("scripts", Path.GetFullPath(options.Scripts));
            native.Set("contents", Path.GetFullPath(Path.Combine(options.Scripts, "Contents")));
            native.Set("countFile", options.CountFile);
            // As on a normal day: the terminal of the AI has the focus.
            native.Set("isFocused", false);
            foreach (string flag in options.Flags) native.Set(flag, true);
            Directory.CreateDirectory(Path.Combine(project, "ProjectSettings"));
            Directory.CreateDirectory(Path.Combine(project, "UserSettings"));
            File.WriteAllText(Path.Combine(project, "UserSettings", "Holdfast.asset"),
                $"port={options.Port}\nswitchesOn=AllowThirdPartyTools" + (options.Unproven ? "\nallowUnprovenClients=True" : ""));
            domain = make(options, native);
        }

        private static long Now => Stopwatch.GetTimestamp() * 1000 / Stopwatch.Frequency;

        public int Run()
        {
            new Thread(ReadLines) { IsBackground = true, Name = "stdin" }.Start();
            Load();
            while (!ended)
            {
                while (!ended && lines.TryDequeue(out string line)) Obey(line);
                if (ended) break;
                while (native.NextRequest() is { } request) Granted(request);
                bool runs = !modal && !frozen && Now >= blockedUntil;
                if (reloadDue && runs && !native.Flag("reloadLocked")) Reload(options.ReloadMs, false);
                if (Now >= compiledAt) Compiled();
                if (runs) Play();
                if (runs) Frame();
                LookForBridge();
                due = WaitFrame(native.Flag("isFocused") ? options.TickMs : options.UnfocusedMs);
            }
            domain.Quit();
            domain.Unload();
            Tell(Lines.Of("quit"));
            return 0;
        }

        // The bridge begins to listen on a thread of its own, and needs no frame for it. So the host looks for it between frames:
        // without focus, the next frame may be an hour away.
        private bool WaitFrame(int milliseconds)
        {
            for (; !announced && milliseconds > LookMs; milliseconds -= LookMs)
            {
                if (!native.WaitFrame(LookMs)) return false;
                LookForBridge();
            }
            return native.WaitFrame(milliseconds);
        }

        private void Frame()
        {
            // Counted before the tick, so that a client that is answered during the tick finds the frame counted in the stats.
            if (due) ownFrames++;
            domain.Tick();
        }

        private void Obey(string line)
        {
            string[] words = line.Split(new[] { ' ' }, StringSplitOptions.RemoveEmptyEntries);
            string verb = words.Length > 0 ? words[0] : "", argument = words.Length > 1 ? words[1] : null;
            int.TryParse(argument ?? "0", out int ms);
            bool on = argument == "on", done = true;
            switch (verb)
            {
                case "reload":
                    Reload(ms, false);
                    break;
                case "move":
                    Reload(ms, true);
                    break;
                case "compile":
                    Compile(ms);
                    break;
                case "down":
                    done = domain.Invoke("Holdfast.Editor.Controller", "Stop", null);
                    break;
                case "forward":
                    native.Set("forwardedPort", argument ?? "");
                    break;
                case "up":
                    done = domain.Invoke("Holdfast.Editor.Controller", "Start", null);
                    announced = false;
                    break;
                case "freeze" when argument == null:
                    frozen = true;
                    break;
                case "freeze":
                case "import":
                    blockedUntil = Now + ms;
                    break;
                case "thaw":
                    frozen = false;
                    blockedUntil = 0;
                    break;
                case "changed":
                    done = domain.Invoke("Holdfast.HostTools.Steer", "Changed", null);
                    break;
                case "addtool":
                    done = argument != null && domain.Invoke("Holdfast.HostTools.Steer", "AddTool", argument);
                    break;
                case "release":
                    done = domain.Invoke("Holdfast.HostTools.Steer", "Release", null);
                    break;
                case "compile-error":
                    native.Set("compileErrors", on);
                    break;
                case "lock-reload":
                    native.Set("reloadLocked", on);
                    break;
                case "edit":
                    native.Set("changedScripts", true);
                    break;
                case "modal":
                    modal = on;
                    break;
                case "play":
                    native.Set("isPlaying", on);
                    native.Set("willPlay", on);
                    break;
                case "focus":
                    native.Set("isFocused", on);
                    break;
                case "window":
                    string seen = domain.Window(line.Substring(verb.Length).Trim());
                    Tell(seen.StartsWith("!") ? Lines.Of("failed", ("line", line), ("error", seen.Substring(1))) : Lines.Of("window", ("seen", seen)));
                    return;
                case "stats":
                    Tell(Stats());
                    return;
                case "crash":
                    Tell(Lines.Of("crashed"));
                    _exit(134);
                    break;
                case "quit":
                    ended = true;
                    return;
                case "help":
                    foreach (string form in Usage) Tell(Lines.Of("help", ("line", form)));
                    return;
                default:
                    Tell(Lines.Of("bad_line", ("line", line), ("error", "known: " + string.Join(", ", Usage))));
                    return;
            }
            Tell(done ? Lines.Of("done", ("line", line)) : Lines.Of("failed", ("line", line), ("error", "not possible here")));
        }

        private void Granted(string request)
        {
            if (request == "reload") Reload(options.ReloadMs, false);
            else if (request == "play") native.Set("willPlay", native.Flag("willPlay") || (!HasErrors && !native.Flag("cannotPlay")));
            else if (request == "stop") native.Set("willPlay", false);
            else if (request is "pause" or "unpause") native.Set("isPaused", request == "pause");
            else if (request == "step") native.Set("isPaused", true);
            else if (request == "compile" || (request == "refresh" && (sources.HaveChanged() || native.Flag("changedScripts"))))
            {
                native.Set("changedScripts", false);
                native.SetSession("EditorHost.CompilerError", sources.Error());
                Compile(options.CompileMs);
            }
        }

        private bool HasErrors => native.Flag("compileErrors") || native.GetSession("EditorHost.CompilerError") != null;

        // As in Unity's first settings, the domain is reloaded when play mode is entered, and not when it is left.
        private void Play()
        {
            bool will = native.Flag("willPlay");
            if (will == native.Flag("isPlaying")) return;
            if (will && !native.Flag("noDomainReload")) Reload(options.ReloadMs, false);
            native.Set("isPlaying", will);
            if (!will) native.Set("isPaused", false);
        }

        private void Compile(int ms)
        {
            native.Set("compilerRuns", true);
            native.Set("isCompiling", true);
            compiledAt = Now + ms;
        }

        // As in Unity, the end of the compilation is announced in the next frame, the reload follows after that, and isCompiling
        // stays true until then. It stays true for longer if something holds the reload back.
        private void Compiled()
        {
            compiledAt = long.MaxValue;
            native.Set("compilerRuns", false);
            reloadDue = !HasErrors;
            if (!reloadDue) native.Set("isCompiling", false);
        }

        private void Reload(int silence, bool move)
        {
            Tell(Lines.Of("reload_begun", ("silence_ms", silence)));
            reloading = true;
            reloadDue = false;
            native.Set("isCompiling", native.Flag("compilerRuns"));
            var watch = Stopwatch.StartNew();
            domain.Unload();
            long unloaded = watch.ElapsedMilliseconds;
            if (move) native.SetSession("s:Holdfast.Port", OtherPort().ToString());
            if (silence > 0) Thread.Sleep(silence);
            watch.Restart();
            Load();
            if (options.Verbose)
            {
                Tell(Lines.Of("timing", ("unload_ms", unloaded), ("load_ms", watch.ElapsedMilliseconds)));
            }
        }

        private void Load()
        {
            generation++;
            announced = false;
            domain.Load();
        }

        // Finds the bridge by its instance file, as a gateway does.
        private void LookForBridge()
        {
            if (announced) return;
            string path = Path.Combine(options.Project, "Library", "Holdfast", "instance.json");
            if (!File.Exists(path)) return;
            string text = File.ReadAllText(path);
            int found = Number(text, "generation");
            port = Number(text, "port");
            // The file may be left from an editor that crashed, so its process and domain must match.
            if (Number(text, "pid") != Process.GetCurrentProcess().Id || found != generation || port == 0 || text.Contains("\"state\":\"reloading\"")) return;
            announced = true;
            if (reloading) Tell(Lines.Of("reload_ended", ("port", port)));
            reloading = false;
            Tell(Lines.Of("listening", ("port", port), ("pid", Process.GetCurrentProcess().Id), ("domain", generation)));
        }

        private string Stats()
        {
            int leaked = domain.Leaked();
            string[] descriptors = Directory.Exists("/proc/self/fd") ? Directory.GetFiles("/proc/self/fd") : Array.Empty<string>();
            int sockets = descriptors.Count(IsSocket);
            int threads = Directory.Exists("/proc/self/task") ? Directory.GetDirectories("/proc/self/task").Length : 0;
            return Lines.Of("stats", ("port", port), ("domain", generation), ("leaked", leaked), ("threads", threads),
                ("descriptors", descriptors.Length), ("sockets", sockets), ("rss_kb", Resident()), ("frozen", frozen), ("modal", modal),
                ("compile_errors", native.Flag("compileErrors")), ("playing", native.Flag("isPlaying")),
                ("own_frames", ownFrames), ("wakes", native.Wakes));
        }

        private static bool IsSocket(string path)
        {
            var target = new byte[64];
            long length = readlink(path, target, (UIntPtr)target.Length).ToInt64();
            return length > 0 && Encoding.ASCII.GetString(target, 0, (int)length).StartsWith("socket:");
        }

        private static int Resident()
        {
            Match match = Regex.Match(File.Exists("/proc/self/status") ? File.ReadAllText("/proc/self/status") : "", @"VmRSS:\s+(\d+)");
            return match.Success ? int.Parse(match.Groups[1].Value) : 0;
        }

        private static int Number(string json, string name)
        {
            Match match = Regex.Match(json, "\"" + name + "\":(\\d+)");
            return match.Success ? int.Parse(match.Groups[1].Value) : 0;
        }

        /// <summary>One of the ports behind the editor's own, which no other test uses.</summary>
        private int OtherPort() => Enumerable.Range(port + 1, 9).First(IsFree);

        private static bool IsFree(int port)
        {
            var probe = new TcpListener(IPAddress.Loopback, port);
            try
            {
                probe.Start();
                return true;
            }
            catch (SocketException)
            {
                return false;
            }
            finally
            {
                probe.Stop();
            }
        }

        private void ReadLines()
        {
            while (Console.In.ReadLine() is { } line)
            {
                lines.Enqueue(line.Trim());
                native.Nudge();
            }
            if (options.Stay) return;
            lines.Enqueue("quit");
            native.Nudge();
        }

        private void Tell(string json)
        {
            try
            {
                output.WriteLine(json);
            }
            catch (IOException)
            {
                // Nobody reads the output, so nobody controls the host any more, and it ends.
                ended = true;
            }
        }

        [DllImport("libc")]
        private static extern void _exit(int code);

        [DllImport("libc")]
        private static extern IntPtr readlink(string path, byte[] target, UIntPtr size);
    }

    /// <summary>Command line options of the host.</summary>
    public sealed class Options
    {
        public Options(string[] args)
        {
            for (int i = 0; i < args.Length; i++)
            {
                string Value() => i + 1 < args.Length ? args[++i] : throw new ArgumentException(args[i] + " needs a value");
                switch (args[i])
                {
                    case "--scripts": Scripts = Value(); break;
                    case "--project": Project = Value(); break;
                    case "--port": Port = int.Parse(Value()); break;
                    case "--count-file": CountFile = Value(); break;
                    case "--tick-ms": TickMs = int.Parse(Value()); break;
                    case "--unfocused-ms": UnfocusedMs = int.Parse(Value()); break;
                    case "--reload-ms": ReloadMs = int.Parse(Value()); break;
                    case "--compile-ms": CompileMs = int.Parse(Value()); break;
                    case "--unity-version": UnityVersion = Value(); break;
                    case "--flag": Flags.Add(Value()); break;
                    case "--unproven": Unproven = true; break;
                    case "--stay": Stay = true; break;
                    case "--verbose": Verbose = true; break;
                    default: throw new ArgumentException("unknown flag " + args[i]);
                }
            }
        }

        /// <summary>Folder of the assemblies that are loaded again at every reload.</summary>
        public string Scripts { get; } = ".";

        public string Project { get; } = "SimulatedProject";

        public int Port { get; }

        public string CountFile { get; } = "";

        public int TickMs { get; } = 5;

        // An editor without focus runs few frames. This, and the times below, are longer than the package's own patience (a quarter of a
        // second of being kept awake), so that nothing works here only since it is quick. A real compilation takes much longer.
        public int UnfocusedMs { get; } = 1000;

        public int ReloadMs { get; } = 300;

        public int CompileMs { get; } = 400;

        public string UnityVersion { get; } = "6000.0.78f1";

        /// <summary>Names of the states that are true from the start, such as importWorker or batchMode.</summary>
        public List<string> Flags { get; } = new();

        /// <summary>Whether the user allows clients that cannot prove themselves. Otherwise the setting has its first value.</summary>
        public bool Unproven { get; }

        public bool Stay { get; }

        public bool Verbose { get; }
    }
}
