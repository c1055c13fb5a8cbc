"""Random convolutions, poolings and resizings."""

import numpy as np

from drawing import NEWEST, drawn, shape_input


def windows(d, rank, dilate=True, pad=True):
    """Attributes of windows: (kernel, attributes, extents of the input that are large enough)."""
    kernel = [d.to(1, 3) for _ in range(rank)]
    dilations = d.maybe([d.to(1, 2) for _ in range(rank)], 0.4) if dilate else None
    reach = [(dilations[i] if dilations else 1) * (kernel[i] - 1) + 1 for i in range(rank)]
    extents = [r + d.to(0, 3) for r in reach]
    attributes = {"dilations": dilations, "strides": d.maybe([d.to(1, 3) for _ in range(rank)])}
    how = d.pick("none", "pads", "pads", "auto") if pad else "none"
    if how == "pads":
        attributes["pads"] = [d.to(0, max(kernel[i % rank] - 1, 0)) for i in range(2 * rank)]
    if how == "auto":
        attributes["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    return kernel, attributes, extents


@drawn("Conv", weight=4)
def conv(d, op):
    rank, groups = d.pick(1, 2, 2, 3), d.pick(1, 1, 2, 3)
    kernel, attributes, extents = windows(d, rank)
    channels, outputs = d.to(1, 3), groups * d.to(1, 2)
    d.node(op, [d.numbers([d.to(1, 2), groups * channels] + extents), d.numbers([outputs, channels] + kernel),
                d.maybe(d.numbers([outputs]))],
           group=groups if groups > 1 else d.maybe(1), kernel_shape=d.maybe(kernel), **attributes)


@drawn("ConvTranspose", weight=4)
def conv_transpose(d, op):
    rank, groups = d.pick(1, 2, 2, 3), d.pick(1, 1, 2)
    kernel, attributes, extents = windows(d, rank)
    extents = [min(n, 3) for n in extents]
    channels, outputs = groups * d.to(1, 2), d.to(1, 2)
    strides = attributes["strides"] or [1] * rank
    if d.chance(0.3):
        attributes["output_padding"] = [d.to(0, s - 1) for s in strides]
    if d.opset >= 11 and d.chance(0.2):
        attributes.pop("pads", None)
        attributes["output_shape"] = [n * s + d.to(0, 1) for n, s in zip(extents, strides)]
    d.node(op, [d.numbers([d.to(1, 2), channels] + extents), d.numbers([channels, outputs] + kernel),
                d.maybe(d.numbers([outputs * groups]))],
           group=groups if groups > 1 else d.maybe(1), kernel_shape=d.maybe(kernel), **attributes)


@drawn("MaxPool", "AveragePool", "LpPool", weight=4)
def pool(d, op):
    rank = d.pick(1, 2, 2, 3)
    since = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    kernel, attributes, extents = windows(d, rank, d.opset >= since)
    if d.opset >= (18 if op == "LpPool" else 10):
        attributes["ceil_mode"] = d.pick(None, 0, 1)
    outputs, dtype = 1, "float32"
    if op == "MaxPool":
        outputs = d.pick(1, 1, 2) if d.opset >= 8 else 1
        attributes["storage_order"] = d.pick(None, 0, 1) if d.opset >= 8 else None
        dtype = d.pick("float32", "float32", "uint8", "int8") if d.opset >= 12 else dtype
    elif op == "AveragePool":
        attributes["count_include_pad"] = d.pick(None, 0, 1)
    else:
        attributes["p"] = d.pick(None, 1, 2, 3)
    d.node(op, [d.numbers([d.to(1, 2), d.to(1, 2)] + extents, dtype)], outputs, kernel_shape=kernel, **attributes)


@drawn("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(d, op):
    d.node(op, [d.numbers(d.shape(3, 5, 1, 3))], p=d.pick(None, 1, 2, 3) if op == "GlobalLpPool" else None)


@drawn("MaxUnpool", opsets=(9, NEWEST))
def max_unpool(d, op):
    n, c, h, w = d.to(1, 2), d.to(1, 2), d.to(1, 3), d.to(1, 3)
    indices = d.generator.permutation(n * c * h * w * 4)[:n * c * h * w].reshape(n, c, h, w).astype("int64")
    d.node(op, [d.numbers([n, c, h, w]), (indices, d.maybe(True))], kernel_shape=[2, 2], strides=[2, 2])


def resize_attributes(d, mode):
    modes = ["half_pixel", "asymmetric", "align_corners",
             "pytorch_half_pixel"] + (["half_pixel_symmetric"] if d.opset >= 19 else [])
    modes += ["tf_crop_and_resize"] if d.chance(0.3) else []
    attributes = {"coordinate_transformation_mode": d.maybe(d.pick(*modes), 0.7)}
    if mode == "nearest" or mode is None:
        attributes["nearest_mode"] = d.maybe(d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic":
        attributes["cubic_coeff_a"] = d.maybe(-0.5)
        attributes["exclude_outside"] = d.pick(None, 0, 1)
    if d.opset >= 18:
        attributes["antialias"] = d.pick(None, None, 0, 1)
    if d.opset >= 18 and d.chance(0.2):
        attributes["keep_aspect_ratio_policy"] = d.pick("stretch", "not_larger", "not_smaller")
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        attributes["extrapolation_value"] = d.maybe(7.0)
    return attributes


@drawn("Resize", opsets=(10, NEWEST), weight=6)
def resize(d, op):
    mode = d.pick(None, "nearest", "linear", "linear", *(["cubic"] if d.opset >= 11 else []))
    spatial = 2 if mode == "cubic" else d.pick(1, 2, 2, 3)
    shape = [d.to(1, 2), d.to(1, 2)] + d.shape(spatial, spatial, 2, 5)
    scales = [1.0, 1.0] + [d.pick(0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 2.3, 3.0) for _ in range(spatial)]
    if d.opset < 11:
        return d.node(op, [d.numbers(shape), (np.array(scales, "float32"), True)], mode=mode)
    attributes = resize_attributes(d, mode)
    roi = None
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        roi = [0.0] * 2 + [round(d.random.uniform(-0.2, 0.4), 2) for _ in range(spatial)] + [1.0] * 2 + \
            [round(d.random.uniform(0.6, 1.3), 2) for _ in range(spatial)]
    elif d.opset < 13:
        roi = []
    axes = None
    if d.opset >= 18 and d.chance(0.4):
        axes, scales = list(range(2, 2 + spatial)), scales[2:]
        roi = roi and roi[2:2 + spatial] + roi[4 + spatial:]
    sizes = None
    # By ONNX's own cases extents are not rounded for these two, by onnxruntime they are.
    aligned = attributes["coordinate_transformation_mode"] in ("align_corners", "tf_crop_and_resize")
    if d.chance(0.4) or aligned:
        sizes = [max(1, int(n * s)) for n, s in zip(shape if axes is None else shape[2:], scales)]
        scales = [] if d.opset < 13 else None
    d.node(op, [d.numbers(shape), None if roi is None else (np.array(roi, "float32"), True),
                None if scales is None else (np.array(scales, "float32"), True), None if sizes is None else shape_input(sizes)],
           mode=mode, axes=axes, **attributes)


@drawn("Upsample", opsets=(7, 9), weight=2)
def upsample(d, op):
    mode = d.pick(None, "nearest", "linear")
    scales = [1.0, 1.0, d.pick(1.0, 1.5, 2.0, 3.0), d.pick(1.0, 2.0, 2.5)]
    values = d.numbers([d.to(1, 2), d.to(1, 2)] + d.shape(2, 2, 2))
    if d.opset < 9:
        d.node(op, [values], mode=mode, scales=scales)
    else:
        d.node(op, [values, (np.array(scales, "float32"), True)], mode=mode)


@drawn("GridSample", opsets=(16, NEWEST), weight=2)
def grid_sample(d, op):
    n, c, h, w = d.to(1, 2), d.to(1, 2), d.to(2, 4), d.to(2, 4)
    modes = ("bilinear", "nearest", "bicubic") if d.opset < 20 else ("linear", "nearest", "cubic")
    d.special = False
    d.node(op, [d.numbers([n, c, h, w]), d.numbers([n, d.to(1, 3), d.to(1, 3), 2], "float32", -1.3, 1.3)],
           mode=d.maybe(d.pick(*modes), 0.7),
           padding_mode=d.pick(None, "zeros", "border", "reflection"), align_corners=d.pick(None, 0, 1))


@drawn("AffineGrid", opsets=(20, NEWEST))
def affine_grid(d, op):
    n, spatial = d.to(1, 2), d.pick(2, 3)
    d.node(op, [d.numbers([n, spatial, spatial + 1]), shape_input([n, d.to(1, 2)] + d.shape(spatial, spatial, 1, 3))],
           align_corners=d.pick(None, 0, 1))


@drawn("RoiAlign", opsets=(10, NEWEST))
def roi_align(d, op):
    d.special = False
    n, count = d.to(1, 2), d.to(1, 2)
    rois = np.sort(d.numbers([count, 2, 2], "float32", 0, 5), 1).reshape(count, 4)
    transform = d.pick(None, "half_pixel", "output_half_pixel") if d.opset >= 16 else None
    d.node(op, [d.numbers([n, d.to(1, 2), 5, 6]), (rois, True), (d.numbers([count], "int64", 0, n - 1), True)],
           mode=d.maybe("avg"),
           output_height=d.maybe(d.to(1, 3)), output_width=d.maybe(d.to(1, 3)), sampling_ratio=d.pick(None, 1, 2),
           spatial_scale=d.maybe(0.5), coordinate_transformation_mode=transform)
