// Archives of arrays and gzip-compressed files: what numpy, scipy and gzip write, and every lie.
#include <zlib.h>

#include <cstring>

#include "tensor/inflate.h"
#include "tensor/readers.h"
#include "tensor/source.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::error_of;
using testing::expect_contains;
using testing::packed;
using testing::TemporaryFiles;

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  return std::string("\x93NUMPY\x01\x00", 8) + packed<uint16_t>({uint16_t(header.size())}) +
         header + data;
}

std::string deflated(const std::string& data, int window) {
  z_stream stream = {};
  if (deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, data.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string gzipped(const std::string& data) {
  return deflated(data, 15 + 16);
}

struct Member {
  std::string name;
  std::string data;
  bool compress = false;
  uint32_t declared = 0;  ///< another size than the data's, if not 0
};

/// A zip file as its specification (APPNOTE) has it.
std::string zip(const std::vector<Member>& members) {
  std::string file;
  std::string directory;
  for (const Member& m : members) {
    const std::string body = m.compress ? deflated(m.data, -15) : m.data;
    const auto sum = static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(m.data.data()), static_cast<uInt>(m.data.size())));
    const uint32_t size = m.declared != 0 ? m.declared : static_cast<uint32_t>(m.data.size());
    const std::string common = packed<uint16_t>({20, 0, uint16_t(m.compress ? 8 : 0), 0, 0x21}) +
                               packed<uint32_t>({sum, uint32_t(body.size()), size}) +
                               packed<uint16_t>({uint16_t(m.name.size()), 0});
    const auto offset = static_cast<uint32_t>(file.size());
    file.append("PK\x03\x04").append(common).append(m.name).append(body);
    directory += "PK\x01\x02" + packed<uint16_t>({20}) + common + packed<uint16_t>({0, 0, 0}) +
                 packed<uint32_t>({0, offset}) + m.name;
  }
  const auto count = static_cast<uint16_t>(members.size());
  return file + directory + "PK\x05\x06" + packed<uint16_t>({0, 0, count, count}) +
         packed<uint32_t>({uint32_t(directory.size()), uint32_t(file.size())}) +
         packed<uint16_t>({0});
}

class Npz : public ::testing::Test {
 protected:
  RawTensor read(const std::vector<Member>& members, const std::string& name = "") {
    return read_npz(files_.write("a.npz", zip(members)), name);
  }
  std::string fault(const std::vector<Member>& members, const std::string& name = "") {
    return error_of([&] { read(members, name); });
  }
  static std::vector<float> dense(RawTensor raw) {
    return to_dense(to_storage(std::move(raw), dense_format(2)));
  }

  TemporaryFiles files_;
  const std::string matrix_ = npy("<f4", "2, 2", packed<float>({1, 2, 3, 4}));
};

TEST_F(Npz, ReadsMembersByName) {
  const std::string other = npy("<i8", "1, 2", packed<int64_t>({5, 6}));
  for (const bool compress : {false, true}) {
    EXPECT_EQ(dense(read({{"x.npy", matrix_, compress}})), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(dense(read({{"x.npy", matrix_}, {"y.npy", other, compress}}, "y")),
              (std::vector<float>{5, 6}));
  }
  expect_contains(fault({{"x.npy", matrix_}, {"y.npy", other}}), "FILE.npz:NAME with one of x, y");
  expect_contains(fault({{"x.npy", matrix_}}, "z"), "no array 'z'");
  expect_contains(fault({{"x.txt", "text"}}), "no arrays");
  expect_contains(fault({{"x.npy", matrix_}, {"x.npy", other}}, "x"), "same name");
}

TEST_F(Npz, SourcesNameMembers) {
  LoadOptions options;
  files_.write("a.npz", zip({{"x.npy", matrix_}, {"y.npy", matrix_}}));
  options.base_dir = files_.path("");
  EXPECT_EQ(dense(read_raw(parse_source("file(\"a.npz:y\")"), {}, options)),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(split_member("d/a.npz:b"), (std::pair<std::string, std::string>("d/a.npz", "b")));
  EXPECT_EQ(split_member("d:e/a.npz").second, "");
}

/// scipy.sparse.save_npz of [[0, 1, 0], [2, 0, 3]].
std::vector<Member> scipy(const std::string& format, const std::string& descr = "|S3") {
  std::vector<Member> members = {{"shape.npy", npy("<i8", "2,", packed<int64_t>({2, 3})), true},
                                 {"format.npy", npy(descr, "", format), true}};
  const auto add = [&](const char* name, const std::vector<int32_t>& values) {
    members.push_back(
        {name, npy("<i4", std::to_string(values.size()) + ",", packed(values)), true});
  };
  if (format.starts_with("csc")) {
    add("indices.npy", {1, 0, 1});
    add("indptr.npy", {0, 1, 2, 3});
    members.push_back({"data.npy", npy("<f8", "3,", packed<double>({2, 1, 3})), true});
    return members;
  }
  if (format.starts_with("coo")) {
    add("row.npy", {0, 1, 1});
    add("col.npy", {1, 0, 2});
  } else {
    add("indices.npy", {1, 0, 2});
    add("indptr.npy", {0, 1, 3});
  }
  members.push_back({"data.npy", npy("<f4", "3,", packed<float>({1, 2, 3})), true});
  return members;
}

TEST_F(Npz, ReadsSparseMatricesOfScipy) {
  const std::vector<float> expected = {0, 1, 0, 2, 0, 3};
  for (const std::string format : {"csr", "csc", "coo"}) {
    const RawTensor raw = read(scipy(format));
    EXPECT_TRUE(raw.sparse()) << format;
    EXPECT_EQ(dense(raw), expected) << format;
  }
  const std::string wide("c\0\0\0s\0\0\0r\0\0\0", 12);
  std::vector<Member> members = scipy("csr");
  members[1].data = npy("<U3", "", wide);
  EXPECT_EQ(dense(read(members)), expected);
  members = scipy("bsr");
  for (Member& m : members) {  // blocks: said before their values are found to be none of csr
    if (m.name == "data.npy") m.data = npy("<f4", "1,1,1,", packed<float>({1}));
  }
  expect_contains(fault(members), "format bsr is not read, expected csr, csc or coo");
}

TEST_F(Npz, RefusesIndicesThatLie) {
  const auto with = [&](const std::string& name, const std::vector<int32_t>& values) {
    std::vector<Member> members = scipy("csr");
    for (Member& m : members) {
      if (m.name == name) m.data = npy("<i4", std::to_string(values.size()) + ",", packed(values));
    }
    return fault(members);
  };
  expect_contains(with("indptr.npy", {0, 1}), "indptr does not divide");
  expect_contains(with("indptr.npy", {0, 5, 3}), "indptr does not divide");
  expect_contains(with("indptr.npy", {1, 1, 3}), "indptr does not divide");
  expect_contains(with("indptr.npy", {0, -1, 3}), "indptr does not divide");
  expect_contains(with("indices.npy", {1, 0, 3}), "expected 0 to 2");
  expect_contains(with("indices.npy", {1, 0, -1}), "expected 0 to 2");
  expect_contains(with("indices.npy", {1, 2, 2}), "coordinate [1,2] (counted from 0) occurs twice");
  expect_contains(with("indices.npy", {1, 0}), "3 values, but 2 entries");
  std::vector<Member> members = scipy("csr");
  members[0].data = npy("<i8", "2,", packed<int64_t>({-1, 3}));
  expect_contains(fault(members), "expected a matrix");
  members = scipy("csr");
  members.erase(members.begin() + 2);
  expect_contains(fault(members), "no member 'indices.npy'");
}

TEST_F(Npz, RefusesSizesThatLie) {
  expect_contains(fault({{"x.npy", matrix_, true, 0xfffffff0U}}), "which they cannot");
  // Deflate makes at most 1032 bytes of one; a block's end may add a few.
  const auto most = static_cast<uint32_t>(deflated(matrix_, -15).size() * 1032 + 64);
  expect_contains(fault({{"x.npy", matrix_, true, most + 1}}), "which they cannot");
  expect_contains(fault({{"x.npy", matrix_, true, most}}), "damaged or truncated");
  expect_contains(fault({{"x.npy", matrix_, true, 50000}}), "damaged or truncated");
  expect_contains(fault({{"x.npy", matrix_, true, 20}}), "damaged or truncated");
  std::string bytes = zip({{"x.npy", matrix_, true}});
  bytes[bytes.find("NUMPY") == std::string::npos ? 60 : bytes.find("NUMPY")] ^= 0x55;
  files_.write("b.npz", bytes);
  EXPECT_NE(error_of([&] { read_npz(files_.path("b.npz"), ""); }), "no error");
  expect_contains(error_of([&] { read_npz(files_.write("c.npz", "PK nonsense"), ""); }),
                  "not a sound .npz file");
  expect_contains(error_of([&] { read_npz(files_.path("none.npz"), ""); }), "3 ");
}

constexpr const char* kMatrix =
    "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 1\n2 1 2\n";

TEST_F(Npz, ReadsGzippedMatrixMarket) {
  const std::vector<float> expected = {0, 1, 0, 2, 0, 0};
  EXPECT_EQ(dense(read_mtx_gz(files_.write("a.mtx.gz", gzipped(kMatrix)))), expected);
  const std::string halves =
      gzipped(std::string(kMatrix).substr(0, 50)) + gzipped(std::string(kMatrix).substr(50));
  EXPECT_EQ(dense(read_mtx_gz(files_.write("b.mtx.gz", halves))), expected);
}

TEST_F(Npz, RefusesBombsAndTruncation) {
  const auto gz_fault = [&](const std::string& bytes) {
    return error_of([&] { read_mtx_gz(files_.write("a.mtx.gz", bytes)); });
  };
  const std::string whole = gzipped(kMatrix);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(gz_fault(whole.substr(0, size)).substr(0, 2), "1 ") << size;
  }
  // 64 MiB of blanks behind a header that declares two entries.
  expect_contains(gz_fault(gzipped(kMatrix + std::string(size_t{64} << 20, '\n'))),
                  "more than its header has a use for");
  expect_contains(gz_fault(gzipped(std::string(size_t{4} << 20, '%'))), "");
  EXPECT_NE(gz_fault(gzipped(std::string(size_t{4} << 20, '%'))), "no error");
  expect_contains(gz_fault("plain text"), "not a gzip file");
}

}  // namespace
}  // namespace fuseflow
