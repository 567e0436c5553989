# The tag of the exceptions by which Rust unwinds, which LLVM's libunwind has in other toolchains.
# `cargo xtask foreign` assembles it.

	.globl	__cpp_exception
	.tagtype __cpp_exception i32
__cpp_exception:
