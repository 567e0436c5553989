// `bcryptprimitives.dll` for Wine, version 8 of which has none: Rust's std takes its random
// numbers from there. `cargo xtask foreign` builds it.

unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length)
{
    return SystemFunction036(buffer, (unsigned long)length);
}
