"""What kind of program a file is, from its first bytes: a package that carries the wrong one must not leave the house."""

import struct

ELF_MACHINES = {62: "x64", 183: "arm64"}
MACHO_MACHINES = {0x01000007: "x64", 0x0100000C: "arm64"}
PE_MACHINES = {0x8664: "x64", 0xAA64: "arm64"}
PT_INTERP = 3


def format_of(content):
    """`elf-x64`, `macho-arm64`, `pe-x64` ...; `None` if it is none of these."""
    try:
        if content[:6] == b"\x7fELF\x02\x01":
            return _named("elf", ELF_MACHINES, struct.unpack_from("<H", content, 18)[0])
        if content[:4] == b"\xcf\xfa\xed\xfe":
            return _named("macho", MACHO_MACHINES, struct.unpack_from("<I", content, 4)[0])
        if content[:2] == b"MZ":
            header = struct.unpack_from("<I", content, 0x3C)[0]
            if content[header : header + 4] == b"PE\0\0":
                return _named("pe", PE_MACHINES, struct.unpack_from("<H", content, header + 4)[0])
    except struct.error:
        pass
    return None


def _named(kind, machines, number):
    return f"{kind}-{machines.get(number, hex(number))}"


def wants_a_loader(content):
    """Whether an ELF program names a dynamic loader, and so needs the system's libraries."""
    start, (size, count) = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<HH", content, 54)
    return any(struct.unpack_from("<I", content, start + at * size)[0] == PT_INTERP for at in range(count))


def complaint(content, platform):
    """Why this is no program for that platform, or `None`."""
    found = format_of(content)
    if found != platform["format"]:
        return f"it is {found or 'no program that is known here'}, not {platform['format']}"
    if found.startswith("elf-") and wants_a_loader(content):
        return "it is linked dynamically; a package for any Linux needs the static build (make static)"
    return None
