/* Wine 8 has no bcryptprimitives.dll, from which Rust's standard library takes its random numbers on Windows. This one has the
   function that it asks for, over the one that Wine has. It lies beside the .exe for Wine only, and ships nowhere. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    while (length > 0) {
        ULONG part = length > 0x10000000 ? 0x10000000 : (ULONG)length;
        if (!SystemFunction036(data, part)) return FALSE;
        data += part;
        length -= part;
    }
    return TRUE;
}
