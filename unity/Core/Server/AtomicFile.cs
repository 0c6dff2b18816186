#nullable enable
using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Holdfast
{
    /// <summary>Writes files in such a way that a reader sees either the old file or the whole new one.</summary>
    internal static class AtomicFile
    {
        private static readonly bool IsWindows = Environment.OSVersion.Platform == PlatformID.Win32NT;

        /// <summary>
        /// Writes a file that only its owner may read; on Windows SYSTEM and administrators may read it too. Returns false if the
        /// file was written, but Windows refused to protect it, as on a drive whose file system has no access control lists.
        /// </summary>
        /// <exception cref="IOException">The file cannot be written; the old one is unchanged.</exception>
        public static bool WritePrivate(string path, byte[] content)
        {
            string temporary = path + "." + Hex.Random(4) + ".tmp";
            try
            {
                bool isPrivate;
                using (var stream = new FileStream(temporary, FileMode.CreateNew, FileAccess.Write, FileShare.None))
                {
                    // The file is protected before it has any content.
                    isPrivate = IsWindows ? WindowsAccess.Restrict(temporary) : chmod(temporary, 0x180) == 0;
                    if (!isPrivate && !IsWindows) throw new IOException("its mode cannot be set to 0600");
                    stream.Write(content, 0, content.Length);
                }
                Rename(temporary, path);
                return isPrivate;
            }
            catch
            {
                File.Delete(temporary);
                throw;
            }
        }

        /// <summary>Writes a file of the project. If it is a link, its target is written, in place.</summary>
        /// <exception cref="IOException">The file cannot be written; the old one is unchanged.</exception>
        public static void Write(string path, byte[] content)
        {
            if (File.Exists(path) && (File.GetAttributes(path) & FileAttributes.ReparsePoint) != 0)
            {
                File.WriteAllBytes(path, content);
                return;
            }
            // Unity ignores files with this ending.
            string temporary = path + "." + Hex.Random(4) + ".tmp";
            try
            {
                File.WriteAllBytes(temporary, content);
                Rename(temporary, path, false);
            }
            catch
            {
                File.Delete(temporary);
                throw;
            }
        }

        private static void Rename(string from, string to, bool restrict = true)
        {
            if (!IsWindows)
            {
                if (rename(from, to) != 0) throw new IOException($"{from} cannot be renamed to {to}");
                return;
            }
            if (File.Exists(to))
            {
                // File.Replace keeps the access control list of the replaced file, which an older version may have written.
                if (restrict) WindowsAccess.Restrict(to);
                File.Replace(from, to, null);
            }
            else
            {
                File.Move(from, to);
            }
        }

        [DllImport("libc", SetLastError = true)]
        private static extern int chmod(string path, uint mode);

        [DllImport("libc", SetLastError = true)]
        private static extern int rename(string from, string to);
    }

    /// <summary>
    /// Access control lists of files on Windows. By the native functions, because .NET Standard 2.1 has no class for it.
    /// </summary>
    internal static class WindowsAccess
    {
        private const uint TokenQuery = 8;
        private const int TokenUser = 1;
        private const uint SddlRevision = 1;
        private const uint DaclSecurityInformation = 4;

        // Full access for the user, SYSTEM and administrators; "P": nothing is inherited from the folder. The user is named by SID:
        // the owner of a file that an elevated editor writes is the group of administrators, to which a gateway that is not
        // elevated does not belong.
        private static readonly Lazy<string?> Descriptor = new(() =>
            UserSid() is { } user ? $"D:P(A;;FA;;;{user})(A;;FA;;;SY)(A;;FA;;;BA)" : null);

        /// <summary>Lets only the current user, SYSTEM and administrators use a file. Returns false if that fails.</summary>
        public static bool Restrict(string path)
        {
            if (Descriptor.Value is not { } text ||
                !ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SddlRevision, out IntPtr descriptor, IntPtr.Zero))
            {
                return false;
            }
            try
            {
                return SetFileSecurityW(path, DaclSecurityInformation, descriptor);
            }
            finally
            {
                LocalFree(descriptor);
            }
        }

        private static string? UserSid()
        {
            if (!OpenProcessToken(GetCurrentProcess(), TokenQuery, out IntPtr token)) return null;
            IntPtr user = IntPtr.Zero;
            try
            {
                // The first call fails and gives the size.
                GetTokenInformation(token, TokenUser, IntPtr.Zero, 0, out int size);
                if (size <= 0) return null;
                user = Marshal.AllocHGlobal(size);
                if (!GetTokenInformation(token, TokenUser, user, size, out _)) return null;
                // TOKEN_USER begins with a pointer to the SID.
                if (!ConvertSidToStringSidW(Marshal.ReadIntPtr(user), out IntPtr text)) return null;
                string? sid = Marshal.PtrToStringUni(text);
                LocalFree(text);
                return sid;
            }
            finally
            {
                Marshal.FreeHGlobal(user);
                CloseHandle(token);
            }
        }

        [DllImport("kernel32")]
        private static extern IntPtr GetCurrentProcess();

        [DllImport("kernel32")]
        [return: MarshalAs(UnmanagedType.Bool)]
        private static extern bool CloseHandle(IntPtr handle);

        [DllImport("kernel32")]
        private static extern IntPtr LocalFree(IntPtr memory);

        [DllImport("advapi32")]
        [return: MarshalAs(UnmanagedType.Bool)]
        private static extern bool OpenProcessToken(IntPtr process, uint access, out IntPtr token);

        [DllImport("advapi32")]
        [return: MarshalAs(UnmanagedType.Bool)]
        private static extern bool GetTokenInformation(IntPtr token, int kind, IntPtr buffer, int size, out int needed);

        [DllImport("advapi32", CharSet = CharSet.Unicode)]
        [return: MarshalAs(UnmanagedType.Bool)]
        private static extern bool ConvertSidToStringSidW(IntPtr sid, out IntPtr text);

        [DllImport("advapi32", CharSet = CharSet.Unicode)]
        [return: MarshalAs(UnmanagedType.Bool)]
        private static extern bool ConvertStringSecurityDescriptorToSecurityDescriptorW(
            string text, uint revision, out IntPtr descriptor, IntPtr size);

        [DllImport("advapi32", CharSet = CharSet.Unicode)]
        [return: MarshalAs(UnmanagedType.Bool)]
        private static extern bool SetFileSecurityW(string path, uint what, IntPtr descriptor);
    }
}
