"""The package list, which pyproject.toml cannot express: one import package out of two folders.

Every folder below the two is taken, so a new sub-package needs no line here. All else is in pyproject.toml.
"""

from setuptools import find_namespace_packages, setup

PACKAGE_DIR = {"contextrender": "py_bridge/contextrender", "contextrender.graph": "jac"}
NOT_PACKAGES = ["__pycache__", "*.__pycache__", "*.__pycache__.*", "__jac_gen__", "*.__jac_gen__", "*.__jac_gen__.*"]
PACKAGES = [
    package
    for name, folder in PACKAGE_DIR.items()
    for package in [name, *(f"{name}.{sub}" for sub in find_namespace_packages(folder, exclude=NOT_PACKAGES))]
]

if __name__ == "__main__":
    setup(packages=PACKAGES, package_dir=PACKAGE_DIR)
