// SPDX-License-Identifier: GPL-2.0-only
// Registers a congestion control by a link, says "ready" and the parameters that the kernel has for it, and holds the link
// until its input ends: when the process that has the other end is gone, however it ended, the kernel lets go of the
// congestion control.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Of kernels that are newer than some distributions' headers.
#define STRUCT_OPS_LINK (1U << 13) /* BPF_F_LINK */
#define STRUCT_OPS 44 /* BPF_STRUCT_OPS, an attach type */

static int failed(const char *what)
{
	perror(what);
	return 1;
}

int main(int count, char **arguments)
{
	union bpf_attr attributes;
	struct bpf_object *object;
	struct bpf_map *map, *constants;
	__u32 parameters[3], first = 0;
	char byte;

	if (count != 2)
		return fprintf(stderr, "expected one object file\n"), 2;
	object = bpf_object__open_file(arguments[1], NULL);
	if (!object)
		return failed("open");
	map = bpf_object__find_map_by_name(object, "lab_dctcp");
	if (!map || bpf_map__set_map_flags(map, STRUCT_OPS_LINK))
		return failed("find the congestion control");
	if (bpf_object__load(object))
		return failed("load");
	constants = bpf_object__find_map_by_name(object, ".rodata");
	if (!constants || bpf_map__value_size(constants) != sizeof parameters ||
	    bpf_map_lookup_elem(bpf_map__fd(constants), &first, parameters))
		return failed("read the parameters back");
	// With that flag this fills the map in, and registers nothing.
	if (!bpf_map__attach_struct_ops(map))
		return failed("fill in");
	memset(&attributes, 0, sizeof attributes);
	attributes.link_create.prog_fd = bpf_map__fd(map); // The map's number has the same place.
	attributes.link_create.attach_type = STRUCT_OPS;
	if (syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes) < 0)
		return failed("register");
	printf("ready %u %u %u\n", parameters[0], parameters[1], parameters[2]);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
