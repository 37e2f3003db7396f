// A library with NCCL's name, to see what is refused once that is loaded.
extern "C" int octet_nccl_by_name() {
  return 0;
}
