//! Foreign vdbench files.

use super::{Scene, assert_refused};

const FOREIGN: &str = super::FOREIGN;

/// vdbench files, and what is said of them.
const VDBENCH: &[(&str, &str)] = &[
    ("sd=s,lun=@V,size=1m\nwd=w,sd=s,rdpct=0\nrd=r,wd=w,iorate=max,elapsed=2,interval=1", FOREIGN),
    ("sd=s,lun=@V,size=4m\nwd=w,sd=s,rdpct=100\nrd=r,wd=w,iorate=max,elapsed=2,interval=1", FOREIGN),
    (
        "fsd=f,anchor=@D,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E",
        "was not made by Assay",
    ),
    (
        "fsd=f,anchor=@D,@T\nfwd=w,fsd=f,operation=read\nrd=r,fwd=w,fwdrate=max,format=(clean,only),@E",
        "was not made by",
    ),
    (
        "fsd=f,anchor=data/../theirs,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E",
        "was not made by",
    ),
    (
        "fsd=f,anchor=data/above,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E",
        "was not made by",
    ),
    ("fsd=f,anchor=@V,@T\nfwd=w,fsd=f,operation=write\nrd=r,fwd=w,fwdrate=max,format=yes,@E", "it is a"),
    ("output=@D\nsd=s,lun=data/x,size=1m\nwd=w,sd=s\nrd=r,wd=w,iorate=max,elapsed=2", "not a keyword"),
    ("include=@V", "holds no parameter"),
];

#[test]
fn a_vdbench_file_does_not_reach_what_is_not_ours() {
    let scene = Scene::new();
    let cases = VDBENCH.iter().map(|(text, why)| {
        scene.write("parm", &(scene.filled(text) + "\n"));
        let words = ["run", "parm", "--format", "vdbench", "--allow-loss"];
        scene.refused(&words, why).map(|said| format!("{text}: {said}"))
    });
    assert_refused(cases);
}
