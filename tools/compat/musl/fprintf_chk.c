// A function of glibc that Debian's `libunwind.a` calls, for programs with musl.
// `cargo xtask foreign` builds it if it builds std.

#include <stdarg.h>
#include <stdio.h>

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list list;
    (void)flag;
    va_start(list, format);
    int printed = vfprintf(file, format, list);
    va_end(list);
    return printed;
}
