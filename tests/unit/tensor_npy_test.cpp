// NumPy files: element types, orders, versions, and hostile headers.
#include "tensor/npy.h"

#include <cmath>
#include <cstring>

#include "tensor/write.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::error_of;
using testing::expect_contains;
using testing::packed;
using testing::TemporaryFiles;

/// A .npy file with a given dictionary and data.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += static_cast<char>(version);
  bytes += '\0';
  const size_t length = dictionary.size() + 1;
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k)
    bytes += static_cast<char>(length >> 8 * k & 0xff);
  return bytes + dictionary + "\n" + data;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': (" + shape + "), }";
}

class Npy : public ::testing::Test {
 protected:
  RawTensor read(const std::string& bytes) { return read_npy(files_.write("a.npy", bytes)); }
  std::vector<float> values(const std::string& bytes) {
    return std::get<Buffer<float>>(read(bytes).data).to_vector();
  }
  std::string fault(const std::string& bytes) {
    return error_of([&] { read(bytes); });
  }

  TemporaryFiles files_;
};

TEST_F(Npy, ReadsEveryElementType) {
  EXPECT_EQ(values(npy(header("<f4", "3,"), packed<float>({1, -2.5, 3}))),
            (std::vector<float>{1, -2.5, 3}));
  EXPECT_EQ(values(npy(header("<f8", "2,"), packed<double>({1e-3, -7}))),
            (std::vector<float>{1e-3F, -7}));
  EXPECT_EQ(values(npy(header("<i4", "2,"), packed<int32_t>({-5, 9}))),
            (std::vector<float>{-5, 9}));
  EXPECT_EQ(values(npy(header("<i8", "2,"), packed<int64_t>({-5, 9}))),
            (std::vector<float>{-5, 9}));
  EXPECT_EQ(values(npy(header("|u1", "2,"), packed<uint8_t>({0, 255}))),
            (std::vector<float>{0, 255}));
  EXPECT_EQ(values(npy(header("|i1", "2,"), packed<int8_t>({-128, 127}))),
            (std::vector<float>{-128, 127}));
  EXPECT_EQ(values(npy(header("<i2", "2,"), packed<int16_t>({-32768, 32767}))),
            (std::vector<float>{-32768, 32767}));
  EXPECT_EQ(values(npy(header("<u2", "2,"), packed<uint16_t>({0, 65535}))),
            (std::vector<float>{0, 65535}));
  EXPECT_EQ(values(npy(header("|b1", "3,"), packed<uint8_t>({0, 1, 7}))),
            (std::vector<float>{0, 1, 1}));
}

/// The other extents may say anything. (What they multiply to is undefined behaviour, which the
/// sanitizers' run sees.)
TEST_F(Npy, ReadsWhatHasNoElements) {
  const std::string shape = "0, 1333331, 13331, 1333333436";
  EXPECT_EQ(values(npy(header("<i8", shape), "")), std::vector<float>());
  EXPECT_EQ(values(npy(header("<f4", shape, true), "")), std::vector<float>());
}

TEST_F(Npy, ReadsHalfPrecision) {
  // 1, -2, 65504 (largest), 2^-24 (smallest), 2^-14 (smallest normal), -0, inf, nan
  const auto result = values(
      npy(header("<f2", "8,"),
          packed<uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x8000, 0x7c00, 0x7e00})));
  EXPECT_EQ(result[0], 1.0F);
  EXPECT_EQ(result[1], -2.0F);
  EXPECT_EQ(result[2], 65504.0F);
  EXPECT_EQ(result[3], std::ldexp(1.0F, -24));
  EXPECT_EQ(result[4], std::ldexp(1.0F, -14));
  EXPECT_TRUE(std::signbit(result[5]) && result[5] == 0);
  EXPECT_TRUE(std::isinf(result[6]));
  EXPECT_TRUE(std::isnan(result[7]));
}

TEST_F(Npy, KeepsIntegersExactly) {
  const RawTensor raw =
      read(npy(header("<i8", "2,"), packed<int64_t>({(INT64_C(1) << 53) + 1, -3})));
  EXPECT_EQ(raw.integers, (std::vector<int64_t>{(INT64_C(1) << 53) + 1, -3}));
  EXPECT_EQ(raw.element, ElementType::i64);
  const RawTensor small = read(npy(header("<u2", "2, 1", true), packed<uint16_t>({65535, 2})));
  EXPECT_EQ(small.integers, (std::vector<int64_t>{65535, 2}));
  EXPECT_EQ(small.element, ElementType::i32);
  EXPECT_EQ(read(npy(header("|i1", "1,"), packed<int8_t>({-1}))).element, ElementType::i8);
}

TEST_F(Npy, FortranOrderBecomesRowMajor) {
  EXPECT_EQ(values(npy(header("<f4", "2, 3", true), packed<float>({1, 4, 2, 5, 3, 6}))),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const RawTensor cube =
      read(npy(header("<i4", "2, 1, 3", true), packed<int32_t>({0, 1, 2, 3, 4, 5})));
  EXPECT_EQ(cube.integers, (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST_F(Npy, ShapesVersionsAndSpellings) {
  EXPECT_EQ(read(npy(header("<f4", ""), packed<float>({4}))).shape, std::vector<int64_t>());
  EXPECT_EQ(read(npy(header("<f4", "0, 5"), "")).shape, (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(values(npy(header("<f4", "1,"), packed<float>({4}), 2)), std::vector<float>{4});
  EXPECT_EQ(values(npy(header("<f4", "1,"), packed<float>({4}), 3)), std::vector<float>{4});
  EXPECT_EQ(values(npy("{\"shape\":(1,),\"descr\":\"<f4\",\"fortran_order\":False}   ",
                       packed<float>({4}))),
            std::vector<float>{4});
}

TEST_F(Npy, RejectsHostileHeaders) {
  const std::string one = packed<float>({4});
  expect_contains(fault(""), "byte 0: not a .npy file");
  expect_contains(fault("PK\x03\x04 an .npz archive"), "byte 0: not a .npy file");
  expect_contains(fault(npy(header("<f4", "1,"), one, 4)), "byte 6: .npy format version 4");
  expect_contains(fault(npy(header("<f4", "1,"), one).substr(0, 40)), "the file is truncated");
  expect_contains(fault(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)),
                  "byte 8: a header of 4294967295");
  expect_contains(fault(std::string("\x93NUMPY\x02\0\xff\xff", 10)), "truncated in its preamble");
  expect_contains(fault(npy(header("|O", "1,"), one)), "pickle");
  expect_contains(fault(npy(header(">f4", "1,"), one)), "element type '>f4'");
  expect_contains(fault(npy(header("<c8", "1,"), one)), "element type '<c8'");
  expect_contains(
      fault(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", one)),
      "structured");
  expect_contains(fault(npy("{'descr': '<f4', 'shape': (1,)}", one)), "incomplete dictionary");
  expect_contains(fault(npy("{'descr': '<f4', 'descr': '<f4'}", one)), "repeated key 'descr'");
  expect_contains(fault(npy("{'evil': 1}", one)), "key 'evil'");
  expect_contains(fault(npy(header("<f4", "-1,"), one)), "a bad extent");
  expect_contains(fault(npy(header("<f4", "99999999999999999999,"), one)), "a bad extent");
  expect_contains(fault(npy(header("<f4", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"), one)),
                  "too many dim");
  expect_contains(fault(npy(header("<f4", "1,") + "x", one)), "text after the dictionary");
  expect_contains(fault(npy("{'descr: <f4", one)), "an open string");
  expect_contains(fault(npy("", one)), "expected '{'");
  expect_contains(fault(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", one)),
                  "True or False");
}

TEST_F(Npy, RejectsWrongSizes) {
  const std::string one = packed<float>({4});
  expect_contains(fault(npy(header("<f4", "2,"), one)),
                  "needs 8 bytes of data, but the file has 4");
  expect_contains(fault(npy(header("<f4", "1,"), one + "x")),
                  "needs 4 bytes of data, but the file has 5");
  expect_contains(fault(npy(header("<f4", "4611686018427387904, 4611686018427387904"), one)),
                  "needs");
  expect_contains(fault(npy(header("<f8", "1,"), packed<double>({1e300}))),
                  "beyond the range of f32");
  EXPECT_EQ(error_of([&] { read_npy(files_.path("missing.npy")); }).substr(0, 2), "3 ");
  EXPECT_EQ(fault("x").substr(0, 2), "1 ");
}

TEST_F(Npy, WritesWhatNumpyReads) {
  const std::string bytes = npy_bytes(std::vector<float>{1, 2}, std::vector<int64_t>{2});
  EXPECT_EQ(bytes.size() % 64, 8U);
  expect_contains(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
  EXPECT_EQ(parse_npy_header(npy_bytes({}, std::vector<int64_t>{0}), "a").data_offset % 64, 0U);
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {3}, {2, 3}, {2, 0}, {2, 1, 3}}) {
    const auto elements = testing::random_elements(element_count(shape), 0.5, 0, 4);
    const Format format = sparse_format(static_cast<int>(shape.size()));
    write_tensor(files_.path("w.npy"), from_dense(elements, shape, format));
    const RawTensor raw = read_npy(files_.path("w.npy"));
    EXPECT_EQ(raw.shape, shape);
    EXPECT_EQ(std::get<Buffer<float>>(raw.data).to_vector(), elements);
  }
}

}  // namespace
}  // namespace fuseflow
