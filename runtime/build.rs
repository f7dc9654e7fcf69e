//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The loader reads every relocation of a program before it starts: 24 bytes each, or a bit each where they are
    // packed, which is 0.4 MiB of memory on every node. It takes glibc 2.36 (2022), which the image has; builds for
    // tests run on older systems too. Linkers that do not know how to pack say so and go on.
    let image = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if image {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
